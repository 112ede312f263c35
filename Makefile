# gantry: `make` builds build/gantry, `make run` starts it, `make help` lists the rest.
#
# A variant is a whole second build in its own directory:
#   make                build/        gcc
#   make CC=clang       build/clang/  clang
#   make SAN=asan       build/asan/   AddressSanitizer + UBSan, exact-size arenas
#   make SAN=tsan       build/tsan/   ThreadSanitizer
#   make SAN=cov        build/cov/    gcc, counting the lines that run
#   make SAN=fuzz       build/fuzz/   clang, instrumented for libFuzzer
#   make static         build/static/ one file with everything in it, for this machine's kind;
#                       ARCH=arm64: build/static-arm64/
# Every variant has <dir>/gantry, <dir>/test/gantry (settable clock, failing kernel calls),
# <dir>/libgantry.a and <dir>/unit/.

.DEFAULT_GOAL := build
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/sh

ifeq ($(origin CC),default)
CC := gcc
endif
SAN ?=
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
PYTEST ?= /usr/bin/python3 -m pytest -q -n 4
PYTEST_ARGS ?=

# LIBC=musl is what `make static` calls itself with.
LIBC ?=
ARCH ?= $(shell dpkg --print-architecture 2>/dev/null || uname -m)
native := $(filter $(ARCH),$(shell dpkg --print-architecture 2>/dev/null || uname -m))

variant := $(or $(SAN),$(if $(LIBC),static$(if $(native),,-$(ARCH))),$(if $(findstring clang,$(CC)),clang))
OUT ?= build$(if $(variant),/$(variant))

# --- flags -----------------------------------------------------------------------------

warnings := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes \
	-Wvla -Wno-format-truncation -Werror
ifneq ($(findstring clang,$(CC))$(filter fuzz,$(SAN)),)
warnings += -Wno-unknown-warning-option
endif
harden := -fstack-protector-strong -D_FORTIFY_SOURCE=2
optimize := -O2 -g

ifeq ($(SAN),asan)
sanitize := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer \
	-DARENA_DEBUG
else ifeq ($(SAN),tsan)
sanitize := -fsanitize=thread -fno-omit-frame-pointer
else ifeq ($(SAN),fuzz)
override CC := clang
sanitize := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer -DARENA_DEBUG
else ifeq ($(SAN),cov)
sanitize := --coverage -fprofile-update=atomic
else ifneq ($(SAN),)
$(error SAN=$(SAN) is not known: use asan, tsan, cov or fuzz)
endif
ifneq ($(SAN),)
harden :=
optimize := $(if $(filter cov,$(SAN)),-O0,-O1) -g
endif

ifeq ($(LIBC),musl)
rig := $(shell scripts/static/build $(ARCH))
ifeq ($(wildcard $(firstword $(rig))/bin/cc),)
$(error the libraries of the static build are not there: $(or $(rig),see the lines above))
endif
override CC := $(rig)/bin/cc
optimize := -Oz -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections
harden := -fstack-protector-strong
else ifneq ($(LIBC),)
$(error LIBC=$(LIBC) is not known: use musl, or leave it out for the machine's own)
endif

# Asked for once, and only when something is compiled: `make help` works on a bare machine.
packages := libcurl openssl sqlite3 jansson yaml-0.1 libpcre2-8 md4c gumbo
once = $(eval $(1) := $(shell $(2)))$($(1))
pkg_cflags = $(call once,pkg_cflags,pkg-config --cflags $(packages))
pkg_libs = $(call once,pkg_libs,pkg-config --libs $(packages); echo -lm)
test_cflags = $(call once,test_cflags,pkg-config --cflags cmocka)
test_libs = $(call once,test_libs,pkg-config --libs cmocka)
compiler = $(call once,compiler,$(CC) --version | head -n 1)
ccache := $(shell command -v ccache)
ifeq ($(LIBC),musl)
pkg_cflags :=
pkg_libs := -lcurl -lssl -lcrypto -lz -lsqlite3 -ljansson -lyaml -lpcre2-8 -lmd4c -lgumbo -lm
LDFLAGS += -s -Wl,--gc-sections -Wl,--build-id=none
endif

cflags = -std=gnu17 -D_GNU_SOURCE -Isrc $(optimize) $(warnings) $(harden) $(sanitize) -fPIE \
	-pthread -ffile-prefix-map=$(CURDIR)=. $(pkg_cflags) $(CPPFLAGS) $(CFLAGS)
ldflags = $(if $(LIBC),,-pie) -pthread -Wl,-z,relro,-z,now $(sanitize) $(LDFLAGS)
# Tests hand literals to macros that widen everything, and ignore cmocka's state.
unit_cflags = $(cflags) -Wno-conversion -Wno-sign-conversion -Wno-unused-parameter -Itests \
	$(test_cflags)
compile = $(ccache) $(CC) -MMD -MP -c

# One short line a step; V=1 shows the commands, -s nothing.
silent := $(findstring s,$(filter-out -%,$(firstword $(MAKEFLAGS))))
Q := $(if $(V),,@)
say = $(if $(V)$(silent),,@printf '  %-5s %s\n' $(1) $(2))

# How the sanitizers speak, and how many times longer than usual the scenes' watchdogs wait.
ifneq ($(SAN),)
export ASAN_OPTIONS ?= detect_stack_use_after_return=1
export UBSAN_OPTIONS ?= print_stacktrace=1
export TSAN_OPTIONS ?= second_deadlock_stack=1
export GANTRY_SLOW ?= 10
endif

# --- what there is -----------------------------------------------------------------------

sources := $(sort $(wildcard src/*/*.c))
main := $(filter src/cli/main.c,$(sources))
objects := $(patsubst src/%.c,$(OUT)/obj/%.o,$(filter-out $(main),$(sources)))
main_o := $(patsubst src/%.c,$(OUT)/obj/%.o,$(main))
seam := $(sort $(wildcard tests/seam/*.c))
seam_o := $(patsubst tests/%.c,$(OUT)/tests/%.o,$(seam))
probe_o := $(patsubst tests/%.c,$(OUT)/tests/%.o,$(sort $(wildcard tests/probe/*.c)))
lib := $(OUT)/libgantry.a
units := $(patsubst tests/unit/%.c,$(OUT)/unit/%,$(sort $(wildcard tests/unit/test_*.c)))
unit_shared := $(patsubst tests/%.c,$(OUT)/tests/%.o,\
	$(filter-out tests/unit/test_%,$(wildcard tests/unit/*.c)))
fuzzers := $(patsubst tests/fuzz/%.c,$(OUT)/%,$(sort $(wildcard tests/fuzz/fuzz_*.c)))
benches := $(patsubst tests/bench/%.c,$(OUT)/bench/%,$(sort $(wildcard tests/bench/*.c)))

# The version, the commit and its date reach src/base/version.c and no other object.
version := $(shell cat VERSION)
# Where there is no repository, GANTRY_COMMIT and GANTRY_COMMIT_DATE may say it.
commit := $(or $(GANTRY_COMMIT),$(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown))
commit_date := $(or $(GANTRY_COMMIT_DATE),$(shell git log -1 --format=%cs 2>/dev/null || echo unknown))
stamp := -DGANTRY_VERSION='"$(version)"' -DGANTRY_COMMIT='"$(commit)"' \
	-DGANTRY_COMMIT_DATE='"$(commit_date)"'

# --- building ----------------------------------------------------------------------------

.PHONY: build
build: $(lib) $(if $(main),$(OUT)/gantry $(if $(seam),$(OUT)/test/gantry) $(OUT)/test/mcp-probe) ## build/gantry, build/test/gantry and build/test/mcp-probe

$(OUT)/gantry: $(main_o) $(lib) $(OUT)/link.flags
	$(call say,LINK,$@)
	$(Q)$(CC) $(ldflags) -o $@ $(main_o) $(lib) $(pkg_libs)

# The test seam stands before the library, so src/os/seam*.c are never taken out of it.
$(OUT)/test/gantry: $(main_o) $(seam_o) $(lib) $(OUT)/link.flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ldflags) -o $@ $(main_o) $(seam_o) $(lib) $(pkg_libs)

# What drives the client through everything of a server, for the conformance suite.
$(OUT)/test/mcp-probe: $(probe_o) $(lib) $(OUT)/link.flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ldflags) -o $@ $(probe_o) $(lib) $(pkg_libs)

$(lib): $(objects) $(OUT)/sources.list
	@rm -f $@
	$(call say,AR,$@)
	$(Q)ar rcsD $@ $(objects)

$(OUT)/obj/%.o: src/%.c $(OUT)/compile.flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(compile) $(cflags) $(version_flags) -o $@ $<

versioned := $(filter %/base/version.o,$(objects))
$(versioned): version_flags = $(stamp)
$(versioned): $(OUT)/version.flags

# What stands in for libc's calls is called before ThreadSanitizer has begun, and by it.
$(OUT)/tests/seam/%.o: tests/seam/%.c $(OUT)/compile.flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(compile) $(cflags) $(if $(filter tsan,$(SAN)),-fno-sanitize=thread -DSEAM_TSAN) -Itests -o $@ $<

$(OUT)/tests/probe/%.o: tests/probe/%.c $(OUT)/compile.flags
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(compile) $(cflags) -o $@ $<

$(OUT)/tests/%.o: tests/%.c $(OUT)/compile.flags | deps-dev
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(compile) $(unit_cflags) -o $@ $<

$(OUT)/unit/%: $(OUT)/tests/unit/%.o $(unit_shared) $(lib) $(OUT)/link.flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ldflags) -o $@ $(filter %.o,$^) $(lib) $(pkg_libs) $(test_libs)

$(OUT)/unit/test_os_seam: $(seam_o)

$(OUT)/bench/%: $(OUT)/tests/bench/%.o $(lib) $(OUT)/link.flags
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CC) $(ldflags) -o $@ $< $(lib) $(pkg_libs)

$(OUT)/fuzz_%: $(OUT)/tests/fuzz/fuzz_%.o $(lib) $(OUT)/link.flags
	$(call say,LINK,$@)
	$(Q)$(CC) $(ldflags) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(lib) $(pkg_libs)

# Conversations are played on a stage, which stands before what it takes the place of.
$(filter %_talk,$(fuzzers)): $(patsubst tests/%.c,$(OUT)/tests/%.o,$(wildcard tests/fuzz/stage*.c))

# A list is rewritten only when it says something new: what depends on it is then rebuilt.
remember = @mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || \
	printf '%s\n' '$(subst ','\'',$(1))' >$@

.PHONY: always
always:
$(OUT)/compile.flags: always | deps-build
	$(call remember,$(compiler) $(rig) $(cflags))
$(OUT)/link.flags: always | deps-build
	$(call remember,$(compiler) $(rig) $(ldflags) $(pkg_libs))
$(OUT)/sources.list: always
	$(call remember,$(objects))
$(OUT)/version.flags: always
	$(call remember,$(stamp))

.SECONDARY:
-include $(wildcard $(OUT)/obj/*/*.d $(OUT)/tests/*/*.d)

.PHONY: static
static: deps-static $(if $(native),,deps-cross) ## build/static/gantry, one file that needs no library (ARCH=arm64: for those)
	@$(MAKE) LIBC=musl ARCH=$(ARCH) one

.PHONY: one check-static
one: $(OUT)/gantry $(OUT)/bench/mcp_echo
check-static: deps-dev build static ## the static program: hardened, small, at home in an empty root; scenes with it
	@GANTRY_STATIC=build/static/gantry GANTRY_STATIC_ECHO=build/static/bench/mcp_echo \
		$(PYTEST) $(PYTEST_ARGS) tests/static
	@GANTRY=build/static/gantry GANTRY_TEST=$(OUT)/test/gantry \
		$(PYTEST) $(PYTEST_ARGS) -m 'not long' tests/scenes

.PHONY: check-cross check-reproducible
check-cross: deps-dev ## the program for arm64, under an emulator
	@$(MAKE) static ARCH=arm64
	@GANTRY_ARM64=build/static-arm64/gantry GANTRY_ARM64_ECHO=build/static-arm64/bench/mcp_echo \
		$(PYTEST) $(PYTEST_ARGS) tests/arm64

check-reproducible: deps-static $(if $(native),,deps-cross) ## two builds in different places give the same bytes
	@scripts/check-reproducible $(ARCH)

# --- packing -----------------------------------------------------------------------------

.PHONY: dist dist-one check-packaging release
DIST ?= build/dist
ARCHS ?= amd64 arm64
dist: deps-static docs ## tarballs and .deb of the static program for ARCHS, with checksums and SBOM, in build/dist
	@rm -rf $(DIST)
	@for arch in $(ARCHS); do $(MAKE) --no-print-directory dist-one ARCH=$$arch || exit 1; done
	@cd $(DIST) && sha256sum * >SHA256SUMS.part && mv SHA256SUMS.part SHA256SUMS && cat SHA256SUMS

dist-one: static docs
	@scripts/dist $(ARCH) build/static$(if $(native),,-$(ARCH))/gantry $(DIST)
	@scripts/sbom $(ARCH) >$(DIST)/gantry-$(version)-linux-$(ARCH).spdx.json

check-packaging: deps-dev static docs ## units, package, image and release, as far as one machine can show them
	@GANTRY_STATIC=build/static/gantry $(PYTEST) $(PYTEST_ARGS) tests/packaging

release: ## VERSION, changelog, tag, push: BUMP=patch|minor|major or TAG=vX.Y.Z
	@scripts/release '$(BUMP)' '$(TAG)'

# --- checking ----------------------------------------------------------------------------

.PHONY: check lint test quick unit scenes test-counterparts check-asan check-tsan coverage fuzz fuzz-coverage fuzz-keep chaos model mutants bench ci conformance

check: lint test ## lint and test

lint: deps-dev ## style, layers, banned calls, sizes, leftovers
	@scripts/lint/all

test: unit scenes ## unit tests, cases and scenes, with Debian's packages alone

# The benches are only built here: they call the library, and would rot unseen.
unit: deps-dev $(units) $(benches) ## build and run every tests/unit/test_*.c
	@scripts/unit $(units)

# A scene drives the program as a user would; these name the two builds to drive.
drive = GANTRY=$(OUT)/gantry GANTRY_TEST=$(OUT)/test/gantry
scenes: deps-dev build ## tests/scenes with pytest against the built program
	@$(drive) $(PYTEST) $(PYTEST_ARGS) tests/scenes

# Every promise of a plain conversation and of the tools in it: half a minute.
quick: unit build ## unit tests and some scenes: what a commit has to pass
	@$(drive) $(PYTEST) $(PYTEST_ARGS) -m 'not long' tests/scenes/test_conversation.py \
		tests/scenes/test_tools.py tests/scenes/test_store.py

test-counterparts: deps-dev build ## the third-party programs from npm, cached outside the tree
	@rig=$$(scripts/counterparts) && GANTRY_COUNTERPARTS="$$rig" $(drive) \
		$(PYTEST) $(PYTEST_ARGS) tests/counterparts

conformance: deps-dev build ## every client scenario of the public MCP conformance suite
	@rig=$$(scripts/counterparts) && tests/counterparts/conformance.py $(OUT)/test/mcp-probe "$$rig"

check-asan: ## unit tests and scenes under AddressSanitizer and UBSan
	@$(MAKE) SAN=asan PYTEST_ARGS="$(PYTEST_ARGS) -m 'not long'" unit scenes

# gcc 12's ThreadSanitizer cannot place its memory where a kernel randomizes a lot.
fixed = $(shell setarch -R true 2>/dev/null && echo setarch -R)
check-tsan: ## unit tests and the scenes marked concurrency under ThreadSanitizer
	@$(fixed) $(MAKE) SAN=tsan PYTEST_ARGS="$(PYTEST_ARGS) -m 'concurrency and not long'" unit scenes

# The verdict is the one of scripts/coverage: scenes of the sandbox fail here, since it keeps
# children from writing their counters.
coverage: ## lines and branches run per folder, at least 90 % of lines or a reason (tests/coverage.toml)
	@rm -rf build/cov/obj/*/*.gcda
	@$(MAKE) -k SAN=cov PYTEST_ARGS="$(PYTEST_ARGS) -m 'not long'" unit scenes || :
	@scripts/coverage build/cov/obj

fuzz: ## each tests/fuzz/fuzz_*.c for FUZZ_SECONDS (60)
ifeq ($(SAN),fuzz)
fuzz: deps-fuzz $(fuzzers)
	@scripts/fuzz $(FUZZ_SECONDS) $(fuzzers)
fuzz-coverage: deps-fuzz $(fuzzers)
	@scripts/fuzz --coverage $(fuzzers)
fuzz-keep: deps-fuzz $(fuzzers)
	@scripts/fuzz --keep $(fuzzers)
else
fuzz fuzz-coverage fuzz-keep:
	@$(MAKE) SAN=fuzz $@
endif
fuzz-coverage: ## which share of each source file the fuzzers' inputs reach
fuzz-keep: ## what the fuzzers learnt, as few inputs as reach it, into tests/fuzz/corpus

chaos: deps-dev build ## everything on and everything that can go wrong, by seed (SEED=1 RUNS=300)
	@/usr/bin/python3 tests/chaos/chaos.py --seed $(or $(SEED),1) --runs $(or $(RUNS),300) $(CHAOS_ARGS)

endurance: deps-dev build ## a day of simulated time with everything on: does anything grow? (SEED=1)
	@$(drive) /usr/bin/python3 tests/endurance/endurance.py --seed $(or $(SEED),1) $(ENDURANCE_ARGS)

.PHONY: torture
torture: deps-dev build ## scenes with one kernel call or allocation failing (SCENES=a,b SEED=1 FAULT=f)
	@$(drive) tests/torture/torture.py --seed $(or $(SEED),1) $(if $(SCENES),--scenes '$(SCENES)') \
		$(if $(FAULT),--fault '$(FAULT)') $(TORTURE_ARGS)

model: deps-model ## every order of the journal's steps, with deaths in between, searched by spin
	@scripts/model

mutants_args = $(if $(AREA),--area $(AREA)) $(if $(COUNT),--count $(COUNT)) $(if $(FROM),--from $(FROM)) \
	$(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED)) $(if $(filter 0,$(SCENES)),--no-scenes)
mutants: deps-dev build ## small faults in policy, gating, journal, scheduling: which do tests see? (AREA= COUNT= FROM= ONLY= SEED= SCENES=0)
	@$(MAKE) --no-print-directory $$(scripts/mutants --units $(mutants_args))
	@scripts/mutants $(mutants_args)

bench: deps-bench build $(benches) ## one table: size, start, memory, time per turn
	@$(drive) BENCH=$(OUT)/bench /usr/bin/python3 tests/bench/run.py

# Names of driver files; without them all of tests/bench/drivers.
DRIVER ?=
.PHONY: compare cost density endurance
compare: $(if $(INSTALL),deps-compare,deps-dev) build ## the same conversation with other agents on the same fakes, side by side (DRIVER=file INSTALL=1)
	@/usr/bin/python3 tests/bench/compare.py $(if $(INSTALL),--install) $(COMPARE_ARGS) $(DRIVER)

# Counts are of one thread and exact, so unlike times they can be judged.
cost: deps-cost build $(OUT)/bench/bench_cost $(OUT)/bench/bench_store $(OUT)/bench/bench_memory ## instructions of the hot pieces, beside those that were kept (KEEP=1)
	@COMPILER='$(compiler)' BENCH=$(OUT)/bench /usr/bin/python3 tests/bench/cost.py $(if $(KEEP),--keep) $(COST_ARGS)

density: deps-dev static ## how many idle instances of the static program fit into 8 GiB (COUNT=n: so many)
	@/usr/bin/python3 tests/bench/density.py --count $(or $(COUNT),0) $(DENSITY_ARGS)

ci: ## what .ci/run does: lint, all tests, the cost, samples of chaos and torture, the model, clang, both sanitizers, a short fuzz
	@.ci/run

# --- using -------------------------------------------------------------------------------

.PHONY: run init example-pa docs picture install deps install-hooks clean help

run: deps-run build ## build and open a terminal chat
	@scripts/run

init: build ## seed ./deploy and .env.example
	@scripts/run --init

example-pa: ## seed examples/personal-assistant: persona and .env
	@scripts/example-pa

docs: deps-run build ## manual pages and completions, from the program's own help: build/man, build/completions
	@scripts/manuals $(OUT)/gantry build

picture: deps-run build ## the terminal of the first page, docs/terminal.svg, from a real run
	@scripts/picture $(OUT)/gantry docs/terminal.svg

share = $(DESTDIR)$(PREFIX)/share
install: build docs ## program, manual pages and completions, below DESTDIR/PREFIX
	install -D -m 755 $(OUT)/gantry $(DESTDIR)$(PREFIX)/bin/gantry
	install -d $(share)/man/man1 $(share)/man/man5
	install -m 644 build/man/*.1 $(share)/man/man1
	install -m 644 build/man/*.5 $(share)/man/man5
	install -D -m 644 build/completions/gantry.bash $(share)/bash-completion/completions/gantry
	install -D -m 644 build/completions/_gantry $(share)/zsh/site-functions/_gantry
	install -D -m 644 build/completions/gantry.fish $(share)/fish/vendor_completions.d/gantry.fish

deps: deps-dev ## install what the build and the tests need (Debian; names it elsewhere)

# Each takes some ten milliseconds when nothing is missing.
need := deps-build deps-run deps-dev deps-bench deps-compare deps-fuzz deps-static deps-cross deps-model deps-cost
.PHONY: $(need)
$(filter-out deps-build,$(need)): deps-build
$(need): deps-%:
	@scripts/deps $*

install-hooks: ## format, lint and quick-test what is committed
	@scripts/hooks/install

clean: ## remove build/
	rm -rf build

help: ## this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' \
		$(MAKEFILE_LIST)
