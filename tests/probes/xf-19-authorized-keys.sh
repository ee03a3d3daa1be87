#!/bin/sh
# probe: xf-19-authorized-keys
# class: fs-write
# needs: sh
# evidence: file:$HOSTHOME/.ssh/authorized_keys
# about: plant a key for ssh
mkdir -p "$HOSTHOME/.ssh" 2>/dev/null; echo "ssh-ed25519 AAAA probe" > "$HOSTHOME/.ssh/authorized_keys" 2>/dev/null && exit 0; exit 10
