# make demo    builds the filter and runs it on the example
# make test    passes the tests
# make help    lists the rest

GO      ?= go
export CGO_ENABLED = 0
# What is called once for a request, a start or a workbook, and never for a record, is compiled without inlining: clients
# of clouds and of tracing, Kafka's requests without its records, and libraries that are there for another one alone.
COLD := github.com/aws/... github.com/Azure/... github.com/AzureAD/... cloud.google.com/... google.golang.org/grpc/... \
	google.golang.org/api/... github.com/googleapis/... go.opentelemetry.io/... github.com/twmb/franz-go/pkg/kmsg \
	github.com/twmb/franz-go/pkg/kadm github.com/twmb/franz-go/pkg/kfake github.com/jackc/pgx/v5/pgtype github.com/xuri/... \
	github.com/bufbuild/...
# All targets compile alike, so that nothing is compiled twice, and for a short wait on a new machine: without the
# debugger's tables, by a compiler that collects no garbage below 700 MiB, and arrow-go with the library's own JSON.
# go test has no vet of its own: make lint has all of it.
COMPILE := -trimpath -tags=arrow_json_stdlib -gcflags=all=-dwarf=false $(COLD:%='-gcflags=%=-dwarf=false -l') -ldflags=-w \
	'-toolexec=env GOGC=off GOMEMLIMIT=700MiB' -vet=off
GIVEN := $(shell $(GO) env GOFLAGS)
export GOFLAGS := $(if $(findstring $(COMPILE),$(GIVEN)),$(GIVEN),$(GIVEN) $(COMPILE))

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

.PHONY: build
build: ## build bin/sdlfilter, a static binary
	@GO='$(GO)' scripts/build.sh bin/sdlfilter ./cmd/sdlfilter

.PHONY: demo
demo: build ## run the example: 28,155 records of the 1988 Current Population Survey
	@test -f out/demo.key || ./bin/sdlfilter keygen --out out/demo.key
	./bin/sdlfilter run examples/cps/pipeline.yaml

.PHONY: demo-stream
demo-stream: build ## the same records as a stream, with a live page; the broker is inside the demonstration
	@test -f out/demo.key || ./bin/sdlfilter keygen --out out/demo.key
	@GO='$(GO)' scripts/build.sh bin/demo-stream ./examples/stream
	./bin/demo-stream $(STREAM)

docs/ru-map.svg: demo ## draw the README's R-U map anew, from the demo
	$(GO) run ./assess/report/internal/figure out/report.json wage >$@

docs/ru-map-masks.svg: build ## draw the README's picture of the masks beside one another anew
	@test -f out/demo.key || ./bin/sdlfilter keygen --out out/demo.key
	./bin/sdlfilter map --quiet examples/map/masks.yaml --out out/masks
	cp out/masks/map.svg $@ && chmod 644 $@

.PHONY: figures
figures: ## draw the papers' figures of docs/figures anew
	cd verify && $(GO) run ./figures ..

.PHONY: test-figures
test-figures: ## the papers' figures are what the program makes of the data
	cd verify && $(GO) test ./figures

.PHONY: test
test: ## the tests that need nothing but Go, in their short form (lint has go vet)
	GOGC=1000 $(GO) test -short -p $(PACKAGES) -parallel $(PACKAGES) -timeout 30m ./...
	cd verify && $(GO) test -short ./bench ./longform ./mutate ./papers
# Two packages for each core, and two tests that say they may run beside others: many of the tests wait, for patience to end or for a program that was killed.
PACKAGES = $(shell echo $$((2 * $$(nproc 2>/dev/null || echo 2))))

.PHONY: test-clock
test-clock: ## streams, windows and files under a clock of the calendar that is set twice a second (minutes)
	scripts/test-clock.sh

.PHONY: test-model
test-model: ## every order of the steps of streams, files and objects, by Spin (needs spin and gcc; minutes)
	scripts/test-model.sh

.PHONY: test-long
test-long: ## the long form of the tests that have one (minutes); `go test ./...` is both
	$(GO) test -timeout 60m -run $$(cd verify && $(GO) run ./longform ..)

.PHONY: test-truth-short
test-truth-short: ## R, U and the map against brute force, a choice of masks, shapes and sizes (minutes)
	cd verify && GOGC=400 $(GO) test -count=1 -timeout 30m ./truth -form short

.PHONY: test-truth
test-truth: ## the same of all of them; writes the table of docs/assessment.md (hours)
	cd verify && $(GO) test -count=1 -timeout 12h ./truth -form full -table "$(CURDIR)/docs/assessment.md"

.PHONY: lint
lint: ## gofmt, go vet, staticcheck
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) vet ./...
	cd verify && $(GO) vet ./...
	$(GO) tool staticcheck ./...

.PHONY: lint-more
LINTER := v2.15.0
lint-more: ## what .golangci.yml asks beyond make lint (compiles the linter; minutes)
	@test -x .cache/golangci-lint-$(LINTER) || { dir=$$(mktemp -d) && GOBIN=$$dir $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINTER) && \
		mkdir -p .cache && mv $$dir/golangci-lint .cache/golangci-lint-$(LINTER); rmdir $$dir; }
	.cache/golangci-lint-$(LINTER) run --timeout 60m ./...

.PHONY: test-race
test-race: ## the tests of what goroutines share, with the race detector (needs a C compiler)
	RACE=short GOGC=400 CGO_ENABLED=1 $(GO) test -race -short -timeout 30m ./assess ./assess/internal/replicate ./connectors/... ./internal/compress \
		./internal/intruder/linkage ./internal/intruder/loss ./internal/intruder/uniqueness ./internal/monitor ./internal/objects/... ./internal/pipeline/... \
		./internal/placed ./internal/publish ./internal/rolling ./internal/text ./transform/internal/displacement
	RACE=short GOGC=400 CGO_ENABLED=1 $(GO) test -race -short -timeout 30m -run 'Stream|Topic|Objects|Swap|Displacement|Pairing' ./cmd/sdlfilter \
		./transform ./transform/internal/exchange
# RACE=short leaves out what tells the race detector nothing more: internal/racetest.

.PHONY: test-race-long
test-race-long: ## all tests with the race detector (20 minutes)
	CGO_ENABLED=1 $(GO) test -race -short -timeout 60m ./...

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME each (default 5s; 1500x for a number of inputs)
	scripts/fuzz.sh $(or $(FUZZTIME),5s)

.PHONY: test-attack
test-attack: build ## play the intruder against the build: exits with 1 where something was recovered
	cd verify && $(GO) build -o ../.cache/verify/ ./redteam
	.cache/verify/redteam -program bin/sdlfilter $(ATTACKS)
	scripts/attack.sh $(GENERATED)

.PHONY: test-generated
test-generated: build ## snoopers against releases of random data: exits with 1 where a report or a gate is beaten
	scripts/attack.sh $(GENERATED)

.PHONY: test-arm64
test-arm64: ## the same bits on arm64, under qemu-user
	scripts/test-arm64.sh

.PHONY: test-loops
test-loops: ## what has assembly gives the same figures without it
	GOGC=1000 $(GO) test -tags purego,arrow_json_stdlib -short -run 'Figures|Grid|Snap|Shared|Centre|Extremes|Sums|Unchanged|Marked|Blocks|Bits' ./assess/... ./transform/... ./connectors/parquet

.PHONY: test-image
test-image: ## the container image, assembled from scratch and run
	scripts/test-image.sh

.PHONY: test-browser
test-browser: ## the HTML report and the live page in headless Chromium
	scripts/test-browser.sh

.PHONY: test-interop
test-interop: ## other libraries read what is written and write what is read
	scripts/test-interop.sh

.PHONY: test-recordswap
test-recordswap: ## the mask recordswap against sdcMicro's recordSwap: SDCMICRO, a folder with its source
	scripts/test-recordswap.sh $(SDCMICRO)

.PHONY: test-statfiles
test-statfiles: ## files of SPSS, Stata and SAS from other packages, released and read back by pyreadstat
	scripts/test-statfiles.sh

.PHONY: test-referee
test-referee: ## the referee of attack against anonymeter, SDMetrics and statsmodels (RECORDS: also the time, on as many records)
	scripts/test-referee.sh $(RECORDS)

.PHONY: test-objects
test-objects: ## object storage on servers of other people (the first time they are installed: minutes)
	scripts/test-objects.sh

.PHONY: test-iceberg
test-iceberg: ## tables of Iceberg read back by pyiceberg and DuckDB, runs killed; SPARK=1: by Spark too (the first time they are installed)
	scripts/test-iceberg.sh

.PHONY: test-postgres
test-postgres: ## releases from and into Debian's PostgreSQL, with faults (the first time it is installed)
	scripts/test-postgres.sh

.PHONY: test-examples
test-examples: ## the examples for Kubernetes, Airflow, dbt, systemd and Prometheus are valid
	scripts/test-examples.sh

.PHONY: test-python
test-python: ## the Python package, its types, tests and notebook (needs Python and Go)
	scripts/test-python.sh

.PHONY: wheels
wheels: ## the Python package with the program inside, for Linux and macOS, into out/wheels (WHEELS: some of the platforms)
	scripts/wheels.sh out/wheels $(WHEELS)

.PHONY: test-wheels
test-wheels: ## the wheels, installed without a network and without Go (WHEELS: some of the platforms; all of them: minutes)
	scripts/test-wheels.sh $(WHEELS)

.PHONY: test-r
test-r: ## the R package by R CMD check, with its tests and its vignette (the first time R is installed)
	scripts/test-r.sh

.PHONY: test-spark
test-spark: ## releases by Spark on a local cluster, with faults (needs Python, Java and Go; minutes)
	scripts/test-spark.sh

.PHONY: release
release: ## make VERSION (v1.2.3): programs, bills of materials, checksums, signature, image, tag; publishes nothing
	scripts/release.sh $(VERSION)

.PHONY: bench
bench: build ## side by side with DuckDB: writes docs/performance.md's figures to stdout
	scripts/bench.sh

.PHONY: bench-span
bench-span: build ## what of a run goes by turns, and the bounds that this sets on 1 to 64 cores
	scripts/bench.sh --only span $(BENCH)

.PHONY: bench-masks
bench-masks: build ## what masks of whole data sets and the intruder would take on 8 cores, from traces of runs
	SCRIPT=bench_span.py scripts/bench.sh $(BENCH)

.PHONY: bench-cores
bench-cores: build ## beside DuckDB on 1, 2, 4, … cores, as many as there are
	scripts/bench.sh --only cores $(BENCH)

.PHONY: bench-shards
bench-shards: build ## what plan, shards and commit take, and a terabyte on 10 to 1,000 executors, simulated
	SCRIPT=bench_shards.py scripts/bench.sh $(BENCH)

.PHONY: bench-objects
bench-objects: build ## from and to S3 on loopback beside files: writes docs/performance.md's figures to stdout
	scripts/bench-objects.sh $(BENCH)

.PHONY: bench-spark
bench-spark: build ## releases by Spark beside Spark's own copy: writes docs/performance.md's figures to stdout
	scripts/bench-spark.sh $(BENCH)

.PHONY: bench-map
bench-map: ## the R-U map beside the same loop in R: writes docs/performance.md's figures to stdout
	scripts/bench-map.sh $(BENCH)

.PHONY: bench-attack
bench-attack: ## linkage, posterior, nearest neighbours, uniqueness: the same for the intruder
	scripts/bench-attack.sh $(BENCH)

.PHONY: bench-guard
bench-guard: ## CPU seconds beside the parent commit's, on a small file: warns, never fails over them
	scripts/bench-guard.sh $(BENCH)

.PHONY: cover
cover: ## statement coverage by package
	$(GO) test -short -cover ./...

.PHONY: mutate
mutate: ## change the program in 300 places, one at a time: do the package's own tests notice? (hours)
	cd verify && $(GO) build -o ../.cache/verify/ ./mutate
	nice .cache/verify/mutate $(MUTATE)

# A real Apache Kafka, which scripts/kafka.sh brings into .cache/kafka.

.PHONY: test-kafka
test-kafka: ## the stream on a real Kafka, with faults (needs Java and Maven; minutes)
	scripts/test-kafka.sh

.PHONY: test-kafka-full
test-kafka-full: ## the same with 200,000 records and ten times the faults (an hour)
	FULL=1 scripts/test-kafka.sh

.PHONY: bench-stream
bench-stream: ## the stream beside a bare copy: writes docs/performance.md's figures to stdout
	scripts/bench-stream.sh
