#!/bin/sh
# Builds an API server to run the contract suite against: kube-apiserver, kube-controller-manager, kube-scheduler and kubelet from
# the source package `kubernetes` of Debian 12, offline from the package's own vendor folder.
#
#   tests/api-server/assets.sh [FOLDER]      (by default ~/.cache/witlet/tools/kubernetes-VERSION)
#   KUBEBUILDER_ASSETS=FOLDER cargo test -p witlet-api-server --test contract
#
# Needs the Debian packages `dpkg-dev golang-go etcd-server`, 3 GB of disk while it builds, and about ten minutes of two cores.
set -eu

version=1.20.2
package=1.20.5+really1.20.2-1.1+deb12u1
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/witlet/tools/kubernetes-$version}
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# The machine's own sources, asked for source packages, with lists of their own: nothing of the machine changes.
mkdir -p "$work/parts" "$work/lists/partial" "$work/archives/partial"
sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$work/parts/source.sources"
apt() {
    apt-get -q -o Dir::Etc::sourcelist=/nowhere/sources.list -o Dir::Etc::sourceparts="$work/parts" -o Dir::State::lists="$work/lists" \
        -o Dir::Cache="$work/archives" -o APT::Sandbox::User= "$@"
}
apt update
(cd "$work" && apt source --download-only "kubernetes=$package" && dpkg-source --no-check -x kubernetes_*.dsc source)

# Before Go's modules: the package lies where its import path says.
mkdir -p "$work/path/src/k8s.io" "$work/bin"
mv "$work/source" "$work/path/src/k8s.io/kubernetes"
export GOPATH="$work/path" GOCACHE="$work/cache" GO111MODULE=off GOPROXY=off GOFLAGS= CGO_ENABLED=0
cd "$work/path/src/k8s.io/kubernetes"

# The API's descriptions are the one thing that is generated and not in the package.
go build -o "$work/bin/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
describe() {
    into=$1
    shift
    from=$(grep -rl --include='*.go' '+k8s:openapi-gen=' "$@" | grep -v -e '_test\.go$' -e /testdata/ | xargs -n1 dirname |
        LC_ALL=C sort -u | sed 's,^,k8s.io/kubernetes/,' | paste -sd,)
    "$work/bin/openapi-gen" --logtostderr -i "$from" -p "k8s.io/kubernetes/$into" -O zz_generated.openapi \
        -h vendor/k8s.io/code-generator/hack/boilerplate.go.txt -r "$work/violations" 2>"$work/openapi.log" ||
        { cat "$work/openapi.log" >&2; exit 1; }
}
staging=staging/src/k8s.io
meta="vendor/k8s.io/apimachinery/pkg/apis/meta/v1/ vendor/k8s.io/apimachinery/pkg/runtime/ vendor/k8s.io/apimachinery/pkg/version/"
all=$(for part in vendor/k8s.io/*/; do
    case $part in */code-generator/ | */sample-apiserver/) ;; *) echo "$part" ;; esac
done)
# shellcheck disable=SC2086 # lists of folders without spaces
describe pkg/generated/openapi pkg cmd $all
# shellcheck disable=SC2086
describe $staging/kube-aggregator/pkg/generated/openapi $meta vendor/k8s.io/kube-aggregator/
# shellcheck disable=SC2086
describe $staging/apiextensions-apiserver/pkg/generated/openapi $meta vendor/k8s.io/apiextensions-apiserver/ vendor/k8s.io/api/autoscaling/v1/

flags="-s -w"
for module in component-base/version client-go/pkg/version; do
    for prefix in k8s.io k8s.io/kubernetes/vendor/k8s.io; do
        flags="$flags -X $prefix/$module.gitVersion=v$version -X $prefix/$module.gitMajor=1 -X $prefix/$module.gitMinor=20"
    done
done
for program in kube-apiserver kube-controller-manager kube-scheduler kubelet; do
    go build -ldflags "$flags" -o "$work/bin/" "./cmd/$program"
done
rm "$work/bin/openapi-gen"
mkdir -p "$folder"
cp "$work/bin/"* "$folder/"
echo "$folder"
