/* Times commands in turn, so that a busy moment of the machine falls on all of them alike.
 *
 *   rounds N NAME CMD… [--next NAME CMD…]…
 *
 * One untimed round, then N timed ones; prints a line per command: name, page faults of the last round (of the command
 * and all it waited for), then every time in nanoseconds in the order of the rounds. A command that fails ends everything: a fast failure is not a result. Output of the commands is discarded.
 *
 * Build: cc -O2 -static -o rounds rounds.c
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { MOST = 32 };
extern char **environ;

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static long long once(char **command, const posix_spawn_file_actions_t *quiet, long *faults) {
    pid_t pid;
    int status;
    long long began = now();
    int error = posix_spawnp(&pid, command[0], quiet, NULL, command, environ);
    if (error) {
        fprintf(stderr, "%s: %s\n", command[0], strerror(error));
        exit(1);
    }
    struct rusage used;
    wait4(pid, &status, 0, &used);
    long long took = now() - began;
    *faults = used.ru_minflt + used.ru_majflt;
    if (status != 0) {
        fprintf(stderr, "failed (status %#x):", (unsigned)status);
        for (; *command; command++) fprintf(stderr, " %s", *command);
        fputc('\n', stderr);
        exit(1);
    }
    return took;
}

int main(int argc, char **argv) {
    char *names[MOST], **commands[MOST];
    long faults[MOST];
    int count = 0, rounds = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 2; i + 1 < argc && count < MOST; i++) {
        names[count] = argv[i++];
        commands[count++] = argv + i;
        while (i < argc && strcmp(argv[i], "--next")) i++;
        if (i < argc) argv[i] = NULL;
    }
    if (rounds < 1 || count < 1) {
        fprintf(stderr, "usage: rounds N NAME CMD… [--next NAME CMD…]…\n");
        return 2;
    }
    long long *took = calloc((size_t)rounds * count, sizeof *took);
    if (!took) return 1;
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    posix_spawn_file_actions_addopen(&quiet, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    if (!getenv("LOUD")) posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
    for (int round = -1; round < rounds; round++)
        for (int c = 0; c < count; c++) {
            long long t = once(commands[c], &quiet, &faults[c]);
            if (round >= 0) took[(size_t)c * rounds + round] = t;
        }
    for (int c = 0; c < count; c++) {
        printf("%s\t%ld", names[c], faults[c]);
        for (int round = 0; round < rounds; round++) printf("\t%lld", took[(size_t)c * rounds + round]);
        putchar('\n');
    }
    return 0;
}
