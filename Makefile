# What people do here. `make demo` and `make test` need the Rust toolchain, gcc and make, nothing else.
CARGO ?= cargo
FUZZ_SECONDS ?= 60
CORPUS ?=

.PHONY: help demo demo-browser live test lint docs interop packages mutants advisories bench bench-before bench-flows bench-sockets bench-edge bench-tcp bench-browser bench-set-up attacks soak soak-sockets fuzz report-page pictures reproduction comparison benchmark semver bevy windows release

help:            ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile

demo:            ## a thin stream over a lossy network, standard and thin-stream recovery side by side
	$(CARGO) run --release --locked -p thinstream-cli --bin thinstream -- demo $(ARGS)
	@echo "Live, in a browser: make demo-browser; with packets that you drop yourself: make live"

demo-browser:    ## live in any browser: one game over a lossy link, standard and thin-stream recovery side by side
	$(CARGO) run --release --locked -p thinstream-cli --bin thinstream -- serve --webrtc $(ARGS)

live:            ## the laboratory as a page: two policies side by side in the browser, steered while they run (needs npm)
	ci/live build
	THINSTREAM_LIVE_PAGE=$(CURDIR)/web/dist/live/live.html $(CARGO) run --release --locked -p thinstream-cli --bin thinstream -- lab live $(ARGS)

test: packages lint ## everything that must hold before a change is taken
	ci/test
	ci/python
	ci/docs
	ci/web
	ci/live

lint:            ## formatting, clippy, documentation, licences; warnings are errors
	ci/lint

docs:            ## the documents as a site, target/book/html (installs mdBook below target, once)
	ci/docs

semver:          ## before a release: what of the public interfaces changed, and the least versions of dependencies (needs nightly; ten minutes)
	ci/semver

bevy:            ## the library in Bevy: a server and a client without a window, over loopback (part of test)
	ci/bevy

windows:         ## the Windows build in wine: what works there, and what does not (Debian: wine64, gcc-mingw-w64-x86-64)
	ci/windows

release:         ## static binaries, Debian packages, wheels, crates, sources, list of crates, checksums, below dist/ (ARGS=--check: made again and compared)
	ci/release $(ARGS)

interop: packages ## the whole interop matrix with real peers; writes docs/interop.md
	$(CARGO) run --locked -p interop --bin matrix -- --markdown docs/interop.md

packages:        ## the Debian packages that the tests with real peers need
	ci/install-packages

report-page:     ## the page of the laboratory's reports, built from web/ to the file that the command embeds (needs npm)
	cd web && npm ci --silent && npm run --silent build && cp dist/index.html ../crates/report/src/document.html

pictures:        ## the pictures of README and docs/why.md, and the numbers under them, drawn anew by the code as it is
	THINSTREAM_BLESS=1 $(CARGO) test --locked -p thinstream-cli --bin thinstream the_picture_in_the_readme

reproduction:    ## the papers' figures and tables, measured again; writes docs/reproduction (minutes; ARGS=--full: hours; after a change of the code ARGS=--anew)
	$(CARGO) run --release --locked -p thinstream-cli --bin thinstream -- lab reproduce all $(ARGS) --out target/reproduction
	rm -rf docs/reproduction && mkdir docs/reproduction
	$(CARGO) run --release --locked -p thinstream-cli --bin thinstream -- lab report target/reproduction --out docs/reproduction/README.md --need-notes
	(cd golden && sha256sum -- *.txt) >docs/reproduction/golden.sha256

comparison:      ## latency beside other transports, its targets, and what each mechanism is good for; writes the tables of five pages (ARGS=targets: of one)
	ci/comparison $(ARGS)

benchmark:       ## five applications over the networks of the library, and what others have published, by transport; writes docs/benchmark.md (OPTIONS="--seeds 1": sooner)
	ci/comparison benchmark

mutants:         ## our conformance scripts with one thing changed each: all must fail, but those listed (seconds, once built)
	$(CARGO) run --release --locked -p thinstream-cli --bin thinstream -- conformance --mutate conformance

advisories:      ## known weaknesses of dependencies; fails where their database cannot be fetched
	ci/deny --need-advisories

bench:           ## benchmarks; results belong in docs/performance.md
	$(CARGO) bench --locked --workspace

bench-before:    ## messages and packets beside the tree before its restructuring: processor time, instructions, memory (15 minutes, needs valgrind and git)
	benches/before/run.py

bench-flows:     ## what a packet costs with 10 to 10,000 flows in the virtual network; with ns-3 installed, beside it
	benches/dumbbell/run
	! pkg-config --exists ns3-core || benches/ns3/run

bench-sockets:   ## what a message costs over real sockets, beside plain UDP, kernel TCP and quinn, with 2,000 and 10,000 connections (ARGS=--rounds N ...)
	cd benches/sockets && $(CARGO) run --release --locked -- $(ARGS)

# The thin stream has both processors, so that its flows do not wait for each other; bulk is about one.
bench-tcp:       ## TCP beside the kernel's: bulk, idle connections, a thin stream (root; five minutes); belongs in docs/tcp.md
	$(CARGO) build --release --locked -p interop --example tun_bulk --example thin_stream
	taskset -c 0 "$${CARGO_TARGET_DIR:-target}/release/examples/tun_bulk" 1000 10000
	"$${CARGO_TARGET_DIR:-target}/release/examples/thin_stream" 80 --flows 4

bench-browser:   ## servers of data channels beside each other, ours, str0m, webrtc-rs and pion, to Chromium over loss (root; twelve minutes); belongs in docs/webrtc.md
	$(CARGO) run --release --locked -p interop --example fidelity -- browser $(ARGS)

bench-set-up:    ## time to the first message: SCTP in plain and encrypted, QUIC and TLS over TCP, in virtual time; belongs in docs/secure.md
	cd benches/set-up && $(CARGO) run --release --locked --target-dir ../../target/set-up

attacks:         ## hostile clients of `serve` and `edge`, and the memory of the process (root; six minutes); belongs in docs/limits.md and docs/edge.md
	$(CARGO) build --release --locked -p thinstream-cli --bin thinstream
	$(CARGO) build --release --locked -p interop --example attacks
	"$${CARGO_TARGET_DIR:-target}/release/examples/attacks" "$${CARGO_TARGET_DIR:-target}/release/thinstream"

soak:            ## SCTP and TCP, 10,000 associations each for hours of virtual time, and the tests marked ignored; optimised
	$(CARGO) run --release --locked -p thinstream-lab --example soak sctp $(ARGS)
	$(CARGO) run --release --locked -p thinstream-lab --example soak tcp $(ARGS)
	$(CARGO) test --release --locked --workspace -- --ignored

bench-edge:      ## what an edge costs beside the kernel alone and haproxy, in network namespaces (as root; ARGS=--connections N ...)
	$(CARGO) build --release --locked -p thinstream-cli --bin thinstream
	cd benches/sockets && $(CARGO) run --release --locked -- edge $(ARGS)

soak-sockets:    ## 10,000 associations over real sockets for an hour, 1 % of packets lost: memory flat, nothing lost (ARGS="--associations N --seconds N")
	cd benches/sockets && $(CARGO) run --release --locked -- soak $(ARGS)

fuzz:            ## each fuzz target until it has had FUZZ_SECONDS of processor time (needs nightly and cargo-fuzz); CORPUS=dir: usrsctp's inputs instead
	ci/fuzz $(FUZZ_SECONDS) $(CORPUS)
