/* The yardstick: the least that any program has to do to hold a command to the current folder. No options to
 * parse, no settings, no checks, no report: only the system calls.
 *
 *   minimal full CMD…      user, mount, pid, ipc, network, uts and cgroup namespaces; everything read-only but the current
 *                          folder; private /tmp, /run and /proc; loopback up; Landlock; a small seccomp filter; no capabilities
 *   minimal light CMD…     Landlock and the seccomp filter alone
 *
 * Build: cc -O2 -static -o minimal minimal.c
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/if.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUST(what, call) ({ __typeof__(call) r = (call); if (r < 0) { perror(what); _exit(125); } r; })

/* Older headers lack these. */
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#endif
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define TREE_CLONE 1
#define TREE_CLOEXEC O_CLOEXEC
#define TREE_RECURSIVE 0x8000
#define MOVE_F_EMPTY 4
#define MOUNT_RDONLY 1
#define MOUNT_NOSUID 2

struct attributes { uint64_t set, clear, propagation, userns; };

static void put(const char *path, const char *text) {
    int fd = MUST(path, open(path, O_WRONLY | O_CLOEXEC));
    MUST(path, write(fd, text, strlen(text)));
    close(fd);
}

static void identity(int uid, int gid) {
    char map[64];
    put("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%d %d 1\n", uid, uid);
    put("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "%d %d 1\n", gid, gid);
    put("/proc/self/gid_map", map);
}

static void loopback(void) {
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = MUST("socket", socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    MUST("lo", ioctl(fd, 0x8914 /* SIOCSIFFLAGS */, &request));
    close(fd);
}

static void mounts(const char *folder) {
    struct attributes closed = {.set = MOUNT_RDONLY | MOUNT_NOSUID};
    MUST("private", mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL));
    int granted = MUST("folder", (int)syscall(SYS_open_tree, AT_FDCWD, folder, TREE_CLONE | TREE_CLOEXEC | TREE_RECURSIVE));
    MUST("read-only", syscall(SYS_mount_setattr, AT_FDCWD, "/", TREE_RECURSIVE, &closed, sizeof closed));
    for (const char **at = (const char *[]){"/tmp", "/var/tmp", "/run", NULL}; *at; at++)
        MUST(*at, mount("tmpfs", *at, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"));
    MUST("proc", mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
    /* The folder may lie below what was just covered. */
    char path[4096];
    snprintf(path, sizeof path, "%s", folder);
    for (char *slash = path + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = 0;
        mkdir(path, 0755);
    }
    mkdir(path, 0755);
    MUST("attach", syscall(SYS_move_mount, granted, "", AT_FDCWD, folder, MOVE_F_EMPTY));
    close(granted);
    MUST("chdir", chdir(folder));
}

static void landlock(const char *folder, int full) {
    struct { uint64_t files, network, scopes; } handled = {0xfff2, full ? 0 : 3, 3};
    int version = MUST("landlock", (int)syscall(SYS_landlock_create_ruleset, NULL, 0, 1));
    size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    if (version < 5) handled.files &= ~(1u << 15);
    if (version < 3) handled.files &= ~(1u << 14);
    if (version < 2) handled.files &= ~(1u << 13);
    int rules = MUST("ruleset", (int)syscall(SYS_landlock_create_ruleset, &handled, size, 0));
    for (const char **at = (const char *[]){folder, "/tmp", "/var/tmp", "/dev/null", NULL}; *at; at++) {
        if (!full && (*at)[1] != 'd' && *at != folder) continue;
        struct { uint64_t access; int32_t fd; } __attribute__((packed)) beneath;
        beneath.fd = MUST(*at, open(*at, O_PATH | O_CLOEXEC));
        beneath.access = handled.files & (strcmp(*at, "/dev/null") ? ~0ull : 0xc002);
        MUST("rule", syscall(SYS_landlock_add_rule, rules, 1, &beneath, 0));
        close(beneath.fd);
    }
    MUST("no new privileges", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    MUST("restrict", syscall(SYS_landlock_restrict_self, rules, 0));
    close(rules);
}

static void no_capabilities(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    MUST("capset", syscall(SYS_capset, &header, none));
}

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#endif

#define REFUSE(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void filter(void) {
    static const struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(SYS_ptrace), REFUSE(SYS_mount), REFUSE(SYS_umount2), REFUSE(SYS_unshare), REFUSE(SYS_setns),
        REFUSE(SYS_io_uring_setup), REFUSE(SYS_keyctl), REFUSE(SYS_add_key), REFUSE(SYS_request_key), REFUSE(SYS_bpf),
        REFUSE(SYS_perf_event_open), REFUSE(SYS_userfaultfd), REFUSE(SYS_open_by_handle_at), REFUSE(SYS_kexec_load),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, (struct sock_filter *)code};
    MUST("seccomp", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

static int outcome(int pid) {
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void become(char **command) {
    execvp(command[0], command);
    perror(command[0]);
    _exit(errno == ENOENT ? 127 : 126);
}

int main(int argc, char **argv) {
    int full = argc > 2 && !strcmp(argv[1], "full");
    if (!full && !(argc > 2 && !strcmp(argv[1], "light"))) {
        fprintf(stderr, "usage: minimal full|light CMD…\n");
        return 2;
    }
    char folder[4096];
    if (!getcwd(folder, sizeof folder)) return 125;
    int uid = getuid(), gid = getgid();
    struct clone_args wanted = {.exit_signal = SIGCHLD};
    if (full)
        wanted.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWCGROUP;
    int init = MUST("clone3", (int)syscall(SYS_clone3, &wanted, sizeof wanted));
    if (init) return outcome(init);
    MUST("parent death", prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
    if (full) {
        identity(uid, gid);
        loopback();
        mounts(folder);
    }
    landlock(folder, full);
    no_capabilities();
    filter();
    if (!full) become(argv + 2);
    /* The first process of a pid namespace reaps; the command is the second. */
    int command = MUST("fork", fork());
    if (!command) become(argv + 2);
    _exit(outcome(command));
}
