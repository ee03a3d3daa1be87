// Both ends of a connection that is measured, and the least relay between them.
//
//   traffic serve PORT                 a server for all of what follows
//   traffic splice PORT TO             a relay by splice(2): two threads for each connection, and nothing else
//   traffic push HOST PORT MEBIBYTES   how fast they arrive, in MiB/s
//   traffic ping HOST PORT TIMES       a word there and back: the median and the 95th percentile, in microseconds
//   traffic hold HOST PORT TIMES       so many connections, each of which was heard once; until standard input ends
//   traffic rest HOST PORT TIMES       the same by plain HTTP: a request and its whole answer, and nothing more
//   traffic part HOST PORT TIMES       the same with an answer of which a part has come
//   traffic hello HOST PORT TIMES      the same with a TLS hello that names the host
//
// With VIA=PORT in the environment all but the first two ask a proxy there for a tunnel.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void quick(int fd) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static int listening(const char *port) {
    struct addrinfo *at, hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    if (getaddrinfo("127.0.0.1", port, &hints, &at)) fail("address");
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, 4096)) fail("listen");
    return fd;
}

static int connected(const char *host, const char *port) {
    struct addrinfo *at, hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    const char *via = getenv("VIA");
    if (getaddrinfo(via ? "127.0.0.1" : host, via ? via : port, &hints, &at)) fail("address");
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, at->ai_addr, at->ai_addrlen)) fail("connect");
    freeaddrinfo(at);
    quick(fd);
    if (via) {
        char text[512];
        int len = snprintf(text, sizeof text, "CONNECT %s:%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n", host, port, host, port);
        if (write(fd, text, len) != len) fail("proxy");
        for (size_t got = 0; got < 4 || memcmp(text + got - 4, "\r\n\r\n", 4); got++)
            if (got == sizeof text || read(fd, text + got, 1) != 1) fail("proxy");
    }
    return fd;
}

static void many(void) {
    struct rlimit most;
    getrlimit(RLIMIT_NOFILE, &most);
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_NOFILE, &most);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

// What a connection begins with: `e` has everything said back, `d` so many bytes forgotten, and answered with one. A
// request and a hello have a first byte of their own.
struct wish {
    char kind;
    char rest[7];
    long bytes;
};

enum { REQUEST = 'G', HELLO = 0x16 };

#define REST "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nrest"
#define PART "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\npart"

// Answers a request or a hello.
static int answered(int fd, const char *bytes) {
    const char *text = bytes[0] == HELLO ? "hello" : strncmp(bytes, "GET /part", 9) ? REST : PART;
    return write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

// Ends of a side are not used: some proxies do not pass them on.
static void serve(const char *port) {
    static char kinds[1 << 20], bytes[1 << 18];
    static long left[1 << 20];
    int listener = listening(port), poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, ready[256];
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(poll, ready, 256, -1);
        for (int i = 0; i < count; i++) {
            int fd = ready[i].data.fd;
            if (fd == listener) {
                if ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) < 0) continue;
                quick(fd);
                // Nothing is left behind by thousands that end at one time.
                struct linger at_once = {.l_onoff = 1};
                setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
                kinds[fd] = 0;
                event.data.fd = fd;
                epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
                continue;
            }
            ssize_t got = read(fd, bytes, sizeof bytes);
            if (got >= (ssize_t)sizeof(struct wish) && !kinds[fd] && bytes[0] != REQUEST && bytes[0] != HELLO) {
                struct wish wish;
                memcpy(&wish, bytes, sizeof wish);
                kinds[fd] = wish.kind;
                left[fd] = wish.bytes;
            }
            if (got > 0 && !kinds[fd] && (bytes[0] == REQUEST || bytes[0] == HELLO) && answered(fd, bytes)) continue;
            if (got > 0 && kinds[fd] == 'e' && write(fd, bytes, got) == got) continue;
            if (got > 0 && kinds[fd] == 'd') {
                left[fd] -= got;
                if (left[fd] > 0 || write(fd, "d", 1) == 1) continue;
            }
            close(fd);
        }
    }
}

struct way {
    int from, to;
};

static void *one_way(void *given) {
    struct way way = *(struct way *)given;
    int ends[2];
    if (pipe(ends)) fail("pipe");
    fcntl(ends[1], F_SETPIPE_SZ, 256 * 1024);
    for (ssize_t got; (got = splice(way.from, NULL, ends[1], NULL, 256 * 1024, SPLICE_F_MOVE)) > 0;)
        for (ssize_t left = got, put; left > 0; left -= put)
            if ((put = splice(ends[0], NULL, way.to, NULL, left, SPLICE_F_MOVE)) <= 0) goto end;
end:
    shutdown(way.to, SHUT_WR);
    close(ends[0]);
    close(ends[1]);
    return NULL;
}

static const char *onward;

static void *relay(void *given) {
    int inside = (int)(intptr_t)given, host = connected("127.0.0.1", onward);
    struct way up = {inside, host}, down = {host, inside};
    pthread_t other;
    quick(inside);
    pthread_create(&other, NULL, one_way, &up);
    one_way(&down);
    pthread_join(other, NULL);
    close(inside);
    close(host);
    return NULL;
}

static void splicing(const char *port, const char *to) {
    int listener = listening(port);
    onward = to;
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;) {
        pthread_t thread;
        pthread_create(&thread, NULL, relay, (void *)(intptr_t)fd);
        pthread_detach(thread);
    }
}

static void push(int fd, long mebibytes) {
    static char bytes[1 << 18];
    struct wish wish = {.kind = 'd', .bytes = mebibytes << 20};
    memcpy(bytes, &wish, sizeof wish);
    double began = now();
    for (long left = mebibytes << 20; left > 0;) {
        ssize_t put = write(fd, bytes, left < (long)sizeof bytes ? left : (long)sizeof bytes);
        if (put <= 0) fail("write");
        left -= put;
    }
    if (read(fd, bytes, 1) != 1) fail("answer");
    printf("%.0f\n", mebibytes / (now() - began));
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void say(int fd) {
    char word[64] = "e";
    if (write(fd, word, sizeof word) != sizeof word) fail("write");
    for (size_t got = 0; got < sizeof word;) {
        ssize_t more = read(fd, word, sizeof word - got);
        if (more <= 0) fail("answer");
        got += more;
    }
}

// Says so much and hears as much as ends with `end`.
static void exchange(int fd, const void *text, size_t len, const char *end) {
    char heard[1024];
    size_t got = 0, of_end = strlen(end);
    if (write(fd, text, len) != (ssize_t)len) fail("write");
    while (got < of_end || memcmp(heard + got - of_end, end, of_end)) {
        ssize_t more = read(fd, heard + got, sizeof heard - got);
        if (more <= 0) fail("answer");
        got += more;
    }
}

static void ask(int fd, const char *what, const char *host, const char *port) {
    char text[512];
    int len = snprintf(text, sizeof text, "GET /%s HTTP/1.1\r\nHost: %s:%s\r\n\r\n", what, host, port);
    exchange(fd, text, len, what);
}

// A TLS hello with one cipher, one way to sign, and the name of the host (RFC 8446, RFC 6066).
static void hello(int fd, const char *host) {
    uint8_t text[512] = {HELLO, 3, 1, 0, 0, 1, 0, 0, 0, 3, 3}, *at = text + 43;
    static const uint8_t cipher[] = {0, 0, 2, 0x13, 0x01, 1, 0}, signing[] = {0, 13, 0, 4, 0, 2, 4, 3};
    // The lengths of all extensions, of the one with the name, of its list; the second is its kind.
    size_t name = strlen(host), sizes[] = {sizeof signing + name + 9, 0, name + 5, name + 3};
    if (name > 255) fail("name");
    memcpy(at, cipher, sizeof cipher);
    at += sizeof cipher;
    for (int i = 0; i < 4; i++) *at++ = sizes[i] >> 8, *at++ = sizes[i];
    *at++ = 0;
    *at++ = name >> 8;
    *at++ = name;
    memcpy(at, host, name);
    memcpy(at += name, signing, sizeof signing);
    size_t len = at + sizeof signing - text;
    text[3] = (len - 5) >> 8, text[4] = len - 5;
    text[7] = (len - 9) >> 8, text[8] = len - 9;
    exchange(fd, text, len, "hello");
}

// Ends when standard input does.
static void hold(const char *kind, const char *host, const char *port, long times) {
    for (long i = 0; i < times; i++) {
        int fd = connected(host, port);
        if (!strcmp(kind, "hold")) say(fd);
        else if (!strcmp(kind, "hello")) hello(fd, host);
        else ask(fd, kind, host, port);
    }
    printf("held %ld\n", times);
    fflush(stdout);
    getchar();
}

static void ping(int fd, long times) {
    double *took = calloc(times, sizeof *took);
    for (int i = 0; i < 200; i++) say(fd);
    for (long i = 0; i < times; i++) {
        double began = now();
        say(fd);
        took[i] = (now() - began) * 1e6;
    }
    qsort(took, times, sizeof *took, by_size);
    printf("%.1f %.1f\n", took[times / 2], took[times * 95 / 100]);
}

static const char *holds[] = {"hold", "rest", "part", "hello", NULL};

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    many();
    if (!strcmp(argv[1], "serve")) serve(argv[2]);
    if (argc > 3 && !strcmp(argv[1], "splice")) splicing(argv[2], argv[3]);
    if (argc < 5) return 2;
    long times = atol(argv[4]);
    if (!strcmp(argv[1], "push")) push(connected(argv[2], argv[3]), times);
    if (!strcmp(argv[1], "ping")) ping(connected(argv[2], argv[3]), times);
    for (const char **kind = holds; *kind; kind++)
        if (!strcmp(argv[1], *kind)) hold(*kind, argv[2], argv[3], times);
    return 0;
}
