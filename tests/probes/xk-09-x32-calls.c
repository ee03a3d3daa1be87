// probe: xk-09-x32-calls
// class: fs-magic
// needs: cc
// evidence: file:$EVID/ev-xk-09-x32-calls
// about: create an outside file by x32 numbers (bit 30), which filters by equality do not see
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
#ifdef __x86_64__
    char at[4200];
    snprintf(at, sizeof at, "%s/ev-xk-09-x32-calls", getenv("EVID"));
    long r = syscall(0x40000000 | 85 /* creat */, at, 0644);
    return r >= 0 ? 0 : 10;
#else
    return 77;
#endif
}
