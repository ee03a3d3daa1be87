/* Names that are made, moved and removed: what it costs to have each such call looked at.
 *
 *   names free|looks|carries ROUNDS
 *
 * In the working directory: ROUNDS times a file is made (open), renamed and removed. `free`: nothing in between. `looks`: a
 * supervisor is notified of each call by seccomp, reads its paths and lets it go on. `carries`: it makes each call itself, in the
 * directory of the process, and hands out the descriptor. Neither judges anything: this is what notifications take by themselves.
 *
 * Prints the wall time and the processor time of both processes, in milliseconds.
 *
 * Build: cc -O2 -static -o names names.c
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1ul
#endif

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double milliseconds(struct timespec t) { return t.tv_sec * 1e3 + t.tv_nsec / 1e6; }

static double used(int who) {
    struct rusage u;
    getrusage(who, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static void work(int rounds) {
    char from[32], to[32];
    for (int i = 0; i < rounds; i++) {
        snprintf(from, sizeof from, "a%d", i);
        snprintf(to, sizeof to, "b%d", i);
        int fd = (int)syscall(SYS_openat, AT_FDCWD, from, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0) fail("open");
        close(fd);
        if (syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)) fail("rename");
        if (syscall(SYS_unlinkat, AT_FDCWD, to, 0)) fail("unlink");
    }
}

/* The filter of a process that is about to work; its end of the notifications. */
static int watched(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unlinkat, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail("no_new_privs");
    int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (fd < 0) fail("seccomp");
    return fd;
}

/* A text of a few bytes in another process. */
static void text(pid_t pid, __u64 at, char *into, size_t most) {
    struct iovec here = {into, most - 1}, there = {(void *)(uintptr_t)at, most - 1};
    ssize_t read = process_vm_readv(pid, &here, 1, &there, 1, 0);
    into[read < 0 ? 0 : read] = 0;
}

static void carry_out(int fd, const struct seccomp_notif *ask, const char *first, const char *second) {
    struct seccomp_notif_resp answer = {.id = ask->id};
    int result = 0;
    if (ask->data.nr == SYS_openat) {
        int file = openat(AT_FDCWD, first, (int)ask->data.args[2] | O_NOFOLLOW, (mode_t)ask->data.args[3]);
        if (file >= 0) {
            struct seccomp_notif_addfd add = {.id = ask->id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (__u32)file, .newfd_flags = O_CLOEXEC};
            if (ioctl(fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0) fail("addfd");
            close(file);
            return;
        }
        result = -1;
    } else if (ask->data.nr == SYS_renameat2) {
        result = renameat(AT_FDCWD, first, AT_FDCWD, second);
    } else {
        result = unlinkat(AT_FDCWD, first, 0);
    }
    answer.error = result ? -errno : 0;
    if (ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0) fail("send");
}

static void supervise(int fd, int carries) {
    ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
    for (;;) {
        struct seccomp_notif ask;
        memset(&ask, 0, sizeof ask);
        if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &ask) < 0) {
            if (errno == EINTR) continue;
            return; /* Nobody is left. */
        }
        char first[64], second[64] = "";
        text((pid_t)ask.pid, ask.data.args[1], first, sizeof first);
        if (ask.data.nr == SYS_renameat2) text((pid_t)ask.pid, ask.data.args[3], second, sizeof second);
        if (carries) {
            carry_out(fd, &ask, first, second);
            continue;
        }
        struct seccomp_notif_resp answer = {.id = ask.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
        if (ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0 && errno != ENOENT) fail("send");
    }
}

static void hand_over(int socket, int fd) {
    char one = 0;
    union { struct cmsghdr head; char space[CMSG_SPACE(sizeof(int))]; } control;
    struct iovec part = {&one, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    control.head = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    if (sendmsg(socket, &message, 0) < 0) fail("sendmsg");
}

static int take_over(int socket) {
    char one;
    int fd = -1;
    union { struct cmsghdr head; char space[CMSG_SPACE(sizeof(int))]; } control;
    struct iovec part = {&one, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    if (recvmsg(socket, &message, 0) < 1) fail("recvmsg");
    memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
    return fd;
}

int main(int argc, char **argv) {
    int rounds = argc == 3 ? atoi(argv[2]) : 0, ends[2];
    if (rounds < 1) {
        fprintf(stderr, "usage: names free|looks|carries ROUNDS\n");
        return 2;
    }
    int free_run = !strcmp(argv[1], "free"), carries = !strcmp(argv[1], "carries");
    struct timespec began, ended;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) fail("socketpair");
    clock_gettime(CLOCK_MONOTONIC, &began);
    pid_t child = fork();
    if (child == 0) {
        if (!free_run) {
            int fd = watched();
            hand_over(ends[1], fd);
            close(fd);
        }
        work(rounds);
        _exit(0);
    }
    if (!free_run) supervise(take_over(ends[0]), carries);
    int status;
    waitpid(child, &status, 0);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("%.0f %.0f\n", milliseconds(ended) - milliseconds(began), used(RUSAGE_SELF) + used(RUSAGE_CHILDREN));
    return status != 0;
}
