#!/bin/sh
# Makes an authority and a certificate for each machine of a pair: docs/use/pair.md.
#   ./certificates.sh a=10.0.0.11 b=10.0.0.12 w=10.0.0.13
# writes tls/ca.crt and tls/NAME/machine.{crt,key}; tls/ca.key signs further ones: keep it elsewhere.
set -eu
umask 077

usage() {
  sed -n '2,4s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
[ $# -gt 0 ] || usage
for machine; do
  case $machine in [a-z]*=?*) ;; *) usage ;; esac
done
mkdir -p tls
key='ec -pkeyopt ec_paramgen_curve:P-256'
if [ ! -e tls/ca.key ]; then
  # shellcheck disable=SC2086 # several words
  openssl req -x509 -newkey $key -nodes -days 7300 -subj '/CN=SegaNet pair' -keyout tls/ca.key -out tls/ca.crt 2>/dev/null
fi
for machine; do
  name=${machine%%=*}
  address=${machine#*=}
  mkdir -p "tls/$name"
  # shellcheck disable=SC2086
  openssl req -newkey $key -nodes -subj "/CN=$name" -keyout "tls/$name/machine.key" -out "tls/$name/request" 2>/dev/null
  # Each is a server and a client of the others.
  printf 'subjectAltName=IP:%s,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n' "$address" >"tls/$name/extensions"
  openssl x509 -req -in "tls/$name/request" -days 3650 -CA tls/ca.crt -CAkey tls/ca.key -CAcreateserial \
    -extfile "tls/$name/extensions" -out "tls/$name/machine.crt" 2>/dev/null || {
    echo "$address is not an IP address. Give each machine as NAME=ADDRESS." >&2
    exit 2
  }
  rm "tls/$name/request" "tls/$name/extensions"
  cp tls/ca.crt "tls/$name/"
  # The folder is for its machine. Of the key, the owner decides who may read it.
  chmod 755 "tls/$name"
  chmod 644 "tls/$name"/*.crt
done
