// probe: xk-08-compat-calls
// class: fs-magic
// needs: cc
// evidence: file:$EVID/ev-xk-08-compat-calls
// about: create an outside file by the 32-bit system-call table (int 0x80), which filters for 64 bits do not see
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
#ifdef __x86_64__
    char *low = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (low == MAP_FAILED) return 77;
    snprintf(low, 8192, "%s/ev-xk-08-compat-calls", getenv("EVID"));
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(8L /* creat */), "b"(low), "c"(0644L) : "memory");
    return r >= 0 ? 0 : 10;
#else
    return 77;
#endif
}
