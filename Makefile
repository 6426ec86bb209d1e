# The project's entry points: `make help` lists them. Build output and downloads live under
# CACHE, outside the checkout; scripts/need.sh installs missing packages.

SHELL := /bin/bash
.DEFAULT_GOAL := help

export HOME ?= $(shell getent passwd "$$(id -u)" | cut -d: -f6)
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/trawl
export CARGO_TARGET_DIR ?= $(CACHE)/target
export PATH := $(CACHE)/tools/bin:$(or $(CARGO_HOME),$(HOME)/.cargo)/bin:$(or $(PATH),/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)

CARGO ?= cargo
# Tests of the rules look at all packages, also those of other systems, and without the network.
FETCH = $(CARGO) fetch --locked --quiet
TREE ?= /usr
PREFIX ?= /usr/local
DESTDIR ?=
INSTALL ?= install
RELEASE := $(CARGO_TARGET_DIR)/release/trawl
MORE := $(CARGO_TARGET_DIR)/release/trawl-more
HOOK := $(CARGO_TARGET_DIR)/release/trawl-hook
MCP := $(CARGO_TARGET_DIR)/release/trawl-mcp
HTTP := $(CARGO_TARGET_DIR)/release/trawl-http
# The SQL engine is a separate program, compiled once with the profile `sql`, and never together
# with the other crates, because it would change their features.
SQL := $(CARGO_TARGET_DIR)/release/trawl-sql
SHELL_FOR_SSH := $(CARGO_TARGET_DIR)/release/trawl-shell
LIBRARY := $(CARGO_TARGET_DIR)/release/libtrawl
PRELOAD := $(CARGO_TARGET_DIR)/release/libtrawl_preload.so
PROFILE := $(CARGO_TARGET_DIR)/release/libtrawl_profile.so
AUDIT := $(CARGO_TARGET_DIR)/audit/libtrawl_audit.so
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

.PHONY: help build build-cli build-demo build-lib build-mcp build-web build-sql build-python demo check test test-system lint bench generate install install-lib built built-lib clean-cache

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: build-cli build-lib build-mcp build-web build-sql ## build the release binaries

build-cli: ## build trawl alone, without the SQL engine
	@scripts/need.sh build
	$(CARGO) build --release --locked --package trawl-cli --package trawl-remote

# Compiled apart: the features of its dependencies would make everything else compile anew.
build-mcp: ## build trawl-mcp, which trawl mcp runs
	@scripts/need.sh build
	$(CARGO) build --release --locked --package trawl-mcp

build-web: ## build trawl-http, which trawl web runs
	@scripts/need.sh build
	$(CARGO) build --release --locked --package trawl-http

build-lib: ## build libtrawl (the search call for C) and the libraries loaded into programs
	@scripts/need.sh build
	$(CARGO) build --release --locked --package trawl-capi
	$(CARGO) build --release --locked --package trawl-preload
	$(CARGO) build --release --locked --package trawl-profile-preload
	$(CARGO) rustc --profile audit --locked --package trawl-audit --lib --crate-type cdylib
	@! readelf --dynamic '$(AUDIT)' | grep NEEDED || { echo 'libtrawl-audit.so must need no other library' >&2; exit 1; }

build-sql: ## build trawl-sql, which trawl sql and trawl export run (slow the first time)
	@scripts/need.sh build
	$(CARGO) build --profile sql --locked --package trawl-sql
	@$(INSTALL) -d '$(dir $(SQL))'
	@ln -f '$(CARGO_TARGET_DIR)/sql/trawl-sql' '$(SQL)'

build-python: ## build the Python package's wheel into dist
	@scripts/need.sh build wheel
	@scripts/python.sh wheel '$(CURDIR)/dist'

# The programs that `make build` adds take as long to link as this one.
build-demo:
	@scripts/need.sh build
	$(CARGO) build --release --locked --package trawl-cli --package trawl-remote --bin trawl

demo: build-demo ## index a real tree (TREE=/usr) and compare searches with find's and du's times
	@TRAWL='$(RELEASE)' TREE='$(TREE)' INDEX='$(CACHE)/demo-index' scripts/demo.sh

test: ## install what the tests need and run all of them
	@scripts/need.sh build test
	$(FETCH)
	@failed=0; \
	$(CARGO) test --workspace --exclude trawl-sql --exclude trawl-python --locked --no-fail-fast || failed=1; \
	scripts/python.sh test || failed=1; \
	scripts/python.sh check-client || failed=1; \
	scripts/web.sh check || failed=1; \
	scripts/web.sh test || failed=1; \
	$(CARGO) test --profile sql --package trawl-sql --locked --no-fail-fast || failed=1; \
	exit $$failed

# Crates that "make check" and "make test-system" leave out: compiled apart (see "make test").
APART := --exclude trawl-sql --exclude trawl-python
# Unit tests leave out three more: these libraries define the C library's own functions, which must
# not end up in a test program (`test = false` in their Cargo.toml).
UNIT := --workspace $(APART) --exclude trawl-preload --exclude trawl-audit --exclude trawl-profile-preload
RULES := --test dependencies --test documents --test front_door --test style

check: ## after every edit: rustfmt, clippy, unit tests, the tree's rules
	@scripts/need.sh build
	$(FETCH)
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace $(APART) --lib --bins --locked --quiet -- -D warnings
	$(CARGO) test $(UNIT) --lib --bins $(RULES) --locked --no-fail-fast

test-system: ## the test suites that mount, fork or need root
	@scripts/need.sh build test
	$(CARGO) test --workspace $(APART) --test '*' --locked --no-fail-fast

lint: ## rustfmt, clippy, cargo-deny, dependency allow-list, generated files
	@.ci/run lint

bench: build ## measure times, memory and sizes against the peers (ONLY=parts ROWS=n RUNS=n)
	@scripts/need.sh bench
	$(CARGO) build --release --locked --package trawl-bench
	$(CARGO) build --release --locked --package trawl-fetch --example experiment
	$(CARGO) build --release --locked --package trawl-sets --example measure_sets
	$(CARGO) build --release --locked --package trawl-direct --example direct_access
	@TRAWL='$(RELEASE)' EXPERIMENT='$(CARGO_TARGET_DIR)/release/examples/experiment' MEASURE='$(CARGO_TARGET_DIR)/release/examples/measure_sets' DIRECT='$(CARGO_TARGET_DIR)/release/examples/direct_access' GENERATOR='$(CARGO_TARGET_DIR)/release/trawl-gen' CACHE='$(CACHE)' bench/run

generate: ## rewrite man pages, completions and reference tables from the code
	@scripts/need.sh build
	$(CARGO) xtask generate

# Installing only copies: it is often done by root, with another cache and without a compiler.
# $(1) lists the files that must exist, $(2) the target that builds them.
missing = for file in $(1); do [ -e "$$file" ] || { echo "$$file is missing: nothing is installed." \
	"Run make $(2) first, and both with the same CARGO_TARGET_DIR, now $(CARGO_TARGET_DIR)" >&2; exit 2; }; done

built:
	@$(call missing,'$(RELEASE)' '$(MORE)' '$(HOOK)' '$(MCP)' '$(HTTP)' '$(SHELL_FOR_SSH)' '$(SQL)',build)

built-lib:
	@$(call missing,'$(LIBRARY).so' '$(LIBRARY).a' '$(PRELOAD)' '$(PROFILE)' '$(AUDIT)',build-lib)

install: built built-lib install-lib ## copy the built programs, libtrawl, man pages, completions and systemd units to DESTDIR/PREFIX
	$(INSTALL) -D -m 755 '$(RELEASE)' '$(DESTDIR)$(PREFIX)/bin/trawl'
	$(INSTALL) -m 755 '$(MORE)' '$(DESTDIR)$(PREFIX)/bin/trawl-more'
	$(INSTALL) -m 755 '$(HOOK)' '$(DESTDIR)$(PREFIX)/bin/trawl-hook'
	$(INSTALL) -m 755 '$(MCP)' '$(DESTDIR)$(PREFIX)/bin/trawl-mcp'
	$(INSTALL) -m 755 '$(HTTP)' '$(DESTDIR)$(PREFIX)/bin/trawl-http'
	$(INSTALL) -D -m 755 '$(SQL)' '$(DESTDIR)$(PREFIX)/bin/trawl-sql'
	ln -sf trawl '$(DESTDIR)$(PREFIX)/bin/trawld'
	$(INSTALL) -m 755 '$(SHELL_FOR_SSH)' '$(DESTDIR)$(PREFIX)/bin/trawl-shell'
	$(INSTALL) -d '$(DESTDIR)$(PREFIX)/share/man/man1'
	$(INSTALL) -m 644 docs/man/*.1 '$(DESTDIR)$(PREFIX)/share/man/man1/'
	$(INSTALL) -d '$(DESTDIR)$(PREFIX)/lib/systemd/system'
	sed 's:@PREFIX@:$(PREFIX):' contrib/systemd/trawld.service > '$(DESTDIR)$(PREFIX)/lib/systemd/system/trawld.service'
	chmod 644 '$(DESTDIR)$(PREFIX)/lib/systemd/system/trawld.service'
	sed 's:@PREFIX@:$(PREFIX):' contrib/systemd/trawl-search.service > '$(DESTDIR)$(PREFIX)/lib/systemd/system/trawl-search.service'
	chmod 644 '$(DESTDIR)$(PREFIX)/lib/systemd/system/trawl-search.service'
	$(INSTALL) -m 644 contrib/systemd/trawl-search.socket '$(DESTDIR)$(PREFIX)/lib/systemd/system/trawl-search.socket'
	sed 's:@PREFIX@:$(PREFIX):' contrib/systemd/trawl-http.service > '$(DESTDIR)$(PREFIX)/lib/systemd/system/trawl-http.service'
	chmod 644 '$(DESTDIR)$(PREFIX)/lib/systemd/system/trawl-http.service'
	$(INSTALL) -D -m 644 contrib/pam/trawl '$(DESTDIR)$(PREFIX)/share/doc/trawl/pam'
	$(INSTALL) -D -m 644 contrib/systemd/trawld.default '$(DESTDIR)$(PREFIX)/share/doc/trawl/trawld.default'
	$(INSTALL) -D -m 644 completions/bash/trawl '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/trawl'
	$(INSTALL) -D -m 644 completions/zsh/_trawl '$(DESTDIR)$(PREFIX)/share/zsh/site-functions/_trawl'
	$(INSTALL) -D -m 644 completions/fish/trawl.fish '$(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/trawl.fish'

install-lib: built-lib ## copy only the built libtrawl, with headers, man pages and the pkg-config file
	$(INSTALL) -D -m 755 '$(LIBRARY).so' '$(DESTDIR)$(PREFIX)/lib/libtrawl.so.0'
	ln -sf libtrawl.so.0 '$(DESTDIR)$(PREFIX)/lib/libtrawl.so'
	$(INSTALL) -D -m 755 '$(PRELOAD)' '$(DESTDIR)$(PREFIX)/lib/trawl/libtrawl-preload.so'
	$(INSTALL) -m 755 '$(PROFILE)' '$(DESTDIR)$(PREFIX)/lib/trawl/libtrawl-profile.so'
	$(INSTALL) -m 755 '$(AUDIT)' '$(DESTDIR)$(PREFIX)/lib/trawl/libtrawl-audit.so'
	$(INSTALL) -m 644 '$(LIBRARY).a' '$(DESTDIR)$(PREFIX)/lib/libtrawl.a'
	$(INSTALL) -D -m 644 crates/faces/c/include/trawl.h '$(DESTDIR)$(PREFIX)/include/trawl.h'
	$(INSTALL) -D -m 644 crates/faces/c/include/trawl/sets.h '$(DESTDIR)$(PREFIX)/include/trawl/sets.h'
	$(INSTALL) -D -m 644 crates/faces/c/include/trawl/attr.h '$(DESTDIR)$(PREFIX)/include/trawl/attr.h'
	$(INSTALL) -D -m 644 crates/faces/c/include/trawl/setcall.h '$(DESTDIR)$(PREFIX)/include/trawl/setcall.h'
	$(INSTALL) -D -m 644 crates/faces/c/include/trawl/searchcall.h '$(DESTDIR)$(PREFIX)/include/trawl/searchcall.h'
	$(INSTALL) -D -m 644 crates/faces/c/include/trawl/search.h '$(DESTDIR)$(PREFIX)/include/trawl/search.h'
	$(INSTALL) -d '$(DESTDIR)$(PREFIX)/lib/pkgconfig' '$(DESTDIR)$(PREFIX)/share/man/man3'
	sed 's:@PREFIX@:$(PREFIX):; s:@VERSION@:$(VERSION):' contrib/pkgconfig/trawl.pc.in > '$(DESTDIR)$(PREFIX)/lib/pkgconfig/trawl.pc'
	chmod 644 '$(DESTDIR)$(PREFIX)/lib/pkgconfig/trawl.pc'
	$(INSTALL) -m 644 docs/man/*.3 '$(DESTDIR)$(PREFIX)/share/man/man3/'

clean-cache: ## remove build output, downloads, tools and the demo's index
	rm -rf -- '$(CACHE)'
