# SPDX-License-Identifier: MIT
# Builds out of source into $(BUILD); sources are found by wildcard, nothing is listed per file.

BUILD ?= build
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell getconf _NPROCESSORS_ONLN)
endif

# Targets that need no configuration; check and quickstart run before there is a compiler.
PLAIN := check clean help install-deps lint quickstart
ifneq ($(filter-out $(PLAIN),$(or $(MAKECMDGOALS),all)),)
-include $(BUILD)/config.mak
endif

Q := $(if $(V),,@)
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Werror=implicit -I. -I$(BUILD) \
	-fvisibility=default -ffunction-sections -fdata-sections -MMD -MP \
	$(CFLAGS_CONFIG) $(EXTRA_CFLAGS)
ALL_LDFLAGS = $(LDFLAGS_CONFIG) -Wl,--gc-sections -Wl,--as-needed $(EXTRA_LDFLAGS)

lib_src := $(shell find blockdev -name '*.c' | sort)
img_src := $(filter-out $(wildcard qimg/io_*.c),$(wildcard qimg/*.c))
# What qimg-io shares with qimg.
shared_src := $(wildcard qimg/opts.c qimg/report.c qimg/human.c qimg/image.c qimg/object.c \
	qimg/program.c qimg/info_print.c)
io_src := $(wildcard qimg/io_*.c)
vm_src := $(shell find vkvm -name '*.c' 2>/dev/null | sort)
test_src := $(wildcard tests/unit/test_*.c)
fake_src := $(filter-out $(test_src),$(wildcard tests/unit/*.c))

obj = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
LIB := $(BUILD)/libqimg.a
# All of vkvm but its main(), for its unit tests; not installed.
VMLIB := $(if $(vm_src),$(BUILD)/libvkvm.a)
PROGS := $(if $(wildcard qimg/main.c),$(BUILD)/qimg) $(if $(io_src),$(BUILD)/qimg-io) \
	$(if $(vm_src),$(BUILD)/vkvm)
TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(test_src))
OBJS := $(call obj,$(lib_src) $(img_src) $(io_src) $(vm_src) $(test_src) $(fake_src))

.PHONY: vkvm-guests check-vkvm check-guest all check unit unit-programs lint iotests cases bench bench-smoke bench-report check-long quickstart install uninstall \
	install-dropin install-deps clean help
.DELETE_ON_ERROR:
.SECONDARY: # keep the objects of test programs

all: $(LIB) $(PROGS)

$(BUILD)/config.mak: configure
	@./configure $(CONFIGURE_ARGS) --build-dir=$(BUILD)

$(BUILD)/obj/%.o: %.c $(BUILD)/config.mak
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<

$(LIB): $(call obj,$(lib_src))
$(BUILD)/libvkvm.a: $(call obj,$(filter-out vkvm/main.c,$(vm_src)))
$(LIB) $(BUILD)/libvkvm.a:
	@echo "  AR    $@"
	$(Q)rm -f $@ && ar rcs $@ $^

$(BUILD)/qimg: $(call obj,$(img_src)) $(LIB)
$(BUILD)/qimg-io: PROG_LIBS = $(IO_LIBS)
$(BUILD)/qimg-io: $(call obj,$(io_src) $(shared_src)) $(LIB)
$(BUILD)/vkvm: $(call obj,vkvm/main.c) $(VMLIB) $(LIB)
$(BUILD)/qimg $(BUILD)/qimg-io $(BUILD)/vkvm:
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS_CONFIG) $(ALL_LDFLAGS) -o $@ $^ $(LIBS) $(PROG_LIBS)

$(BUILD)/tests/unit/%: $(BUILD)/obj/tests/unit/%.o $(call obj,$(fake_src)) $(VMLIB) $(LIB)
	@mkdir -p $(@D)
	@echo "  LD    $@"
	$(Q)$(CC) $(CFLAGS_CONFIG) $(ALL_LDFLAGS) -o $@ $^ $(CHECK_LIBS) $(LIBS)

# Programs that run inside vkvm, without an operating system.
GUEST := $(BUILD)/tests/vkvm
GUEST_CFLAGS := -ffreestanding -nostdlib -static -no-pie -fno-pic -Wl,--build-id=none
$(GUEST)/%.bin: tests/vkvm/guest/%.S
	@mkdir -p $(@D)
	@echo "  GUEST $@"
	$(Q)$(CC) -m32 $(GUEST_CFLAGS) -Wl,-Ttext=0x7c00 -Wl,--oformat=binary -o $@ $<
guest_src := $(filter-out %/mbr.S %/restart.S,$(wildcard tests/vkvm/guest/*.[cS]))
$(GUEST)/guest.elf: $(guest_src) tests/vkvm/guest/guest.h
	@mkdir -p $(@D)
	@echo "  GUEST $@"
	$(Q)$(CC) -std=gnu11 -Wall -Wextra -O2 -mno-red-zone -mgeneral-regs-only \
		-fno-stack-protector -fno-tree-loop-distribute-patterns -fcf-protection=none \
		$(GUEST_CFLAGS) -Wl,-Ttext-segment=0x200000 -Wl,-z,noexecstack -o $@ $(guest_src)

-include $(OBJS:.o=.d)

# --- tests: every runner ends with the line "N passed, N failed" -------------------------------

# Both install what they need first, so that a fresh clone on a fresh machine will do.
check:
	@scripts/install-deps.sh build test
	+@$(MAKE) --no-print-directory BUILD=$(BUILD) all unit-programs vkvm-guests
	+@BUILD=$(BUILD) tests/run
unit: unit-programs
	+@BUILD=$(BUILD) tests/run unit
unit-programs: $(TESTS)
vkvm-guests: $(GUEST)/mbr.bin $(GUEST)/restart.bin $(GUEST)/guest.elf
check-vkvm: all vkvm-guests
	+@BUILD=$(BUILD) tests/run vkvm
# A real Linux, nested in an emulated machine: about four minutes.
check-guest: all
	@scripts/install-deps.sh guest
	+@BUILD=$(BUILD) tests/run guest
lint:
	+@BUILD=$(BUILD) tests/run lint
iotests: all
	+@BUILD=$(BUILD) tests/run iotests
cases: all
	+@BUILD=$(BUILD) tests/run cases
# PART=name runs one part of the long tests, without it all of them.
check-long: all unit-programs
	+@BUILD=$(BUILD) PART=$(PART) tests/run long
bench: all
	@scripts/install-deps.sh bench guest
	+@BUILD=$(BUILD) bench/run
bench-smoke: all
	+@BENCH_SMOKE=1 BUILD=$(BUILD) bench/run
bench-report: all
	@BUILD=$(BUILD) bench/report
quickstart:
	@scripts/install-deps.sh quickstart
	+@$(MAKE) --no-print-directory BUILD=$(BUILD) all vkvm-guests
	@BUILD=$(BUILD) scripts/quickstart.sh

# --- installation ------------------------------------------------------------------------------


install: all
	+@BUILD=$(BUILD) scripts/install.sh install "$(DESTDIR)" "$(PREFIX)" "$(VERSION)" "$(LIBS)"
uninstall:
	+@BUILD=$(BUILD) scripts/install.sh uninstall "$(DESTDIR)" "$(PREFIX)"
# Also under the names qemu-img and qemu-io; never over somebody else's file.
install-dropin: install
	+@BUILD=$(BUILD) scripts/install.sh dropin "$(DESTDIR)" "$(PREFIX)"
install-deps:
	@scripts/install-deps.sh build test

clean:
	rm -rf $(BUILD)

help:
	@echo "make [all]           the library and the programs, in $(BUILD)/"
	@echo "make check           unit tests, lint, golden tests, cases"
	@echo "make unit | lint | iotests | cases"
	@echo "make check-vkvm      tests of vkvm with its own guests, on /dev/kvm"
	@echo "make check-guest     a stock Linux under vkvm, nested, about four minutes"
	@echo "make check-long      the long tests; PART=name: one part"
	@echo "make quickstart      a tour with a real file system image, about two minutes"
	@echo "make install         DESTDIR=, PREFIX= as usual; install-dropin, uninstall"
	@echo "make install-deps    what building and testing needs (Debian)"
	@echo "Variables: BUILD=folder  V=1 (commands)  EXTRA_CFLAGS=  CONFIGURE_ARGS="
