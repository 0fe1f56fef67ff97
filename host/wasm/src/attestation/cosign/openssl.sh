#!/usr/bin/env bash
# Makes openssl.json again: signatures in cosign's forms that openssl alone made, with keys that it made.
set -euo pipefail
folder="$(cd "$(dirname "$0")" && pwd)"
cd "$(mktemp -d)"
empty='{"mediaType":"application/vnd.wasm.config.v0+json","digest":"sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a","size":2}'
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s,"layers":[]}' "$empty" >manifest
digest="$(sha256sum manifest | cut -d' ' -f1)"
printf '{"critical":{"identity":{"docker-reference":"registry.example.com/plugins/team-rules"},"image":{"docker-manifest-digest":"sha256:%s"},"type":"cosign container image signature"},"optional":null}' "$digest" >payload
printf '{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":"%s"},"annotations":{}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{}}' "$digest" >statement
sed 's#https://sigstore.dev/cosign/sign/v1#https://spdx.dev/Document#' statement >sbom
for curve in 256 384; do openssl genpkey -algorithm EC -pkeyopt "ec_paramgen_curve:P-$curve" -out "p$curve.pem"; done
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out other.pem
openssl genpkey -algorithm ed25519 -out ed25519.pem
openssl genpkey -quiet -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out rsa.pem
sign() { openssl dgst -sha256 -sign "$1.pem" "$2" | base64 -w0 >"$1.$2"; }
# What DSSE has signed.
envelope() { printf 'DSSEv1 28 application/vnd.in-toto+json %d %s' "$(stat -c %s "$1")" "$(cat "$1")" >"$1.message"; }
for key in p256 p384 rsa other; do sign "$key" payload; done
openssl pkeyutl -sign -inkey ed25519.pem -rawin -in payload | base64 -w0 >ed25519.payload
for key in p256 p384 ed25519 rsa other; do openssl pkey -in "$key.pem" -pubout -out "$key.pub"; done
for of in statement sbom; do envelope "$of" && sign p256 "$of.message"; done
sign p256 manifest
python3 - "$folder/openssl.json" <<'PY'
import json, sys
read = lambda name: open(name).read()
kinds = ["p256", "p384", "ed25519", "rsa", "other"]
found = {name: read(name) for name in ["manifest", "payload", "statement", "sbom"]}
found["keys"] = {kind: read(kind + ".pub") for kind in kinds}
found["privateKey"] = read("p256.pem")
found["payloadSignatures"] = {kind: read(kind + ".payload") for kind in kinds}
found["statementSignature"] = read("p256.statement.message")
found["sbomSignature"] = read("p256.sbom.message")
found["manifestSignature"] = read("p256.manifest")
with open(sys.argv[1], "w") as out:
    json.dump(found, out, indent=1)
    out.write("\n")
PY
