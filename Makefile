# `make` lists the targets. What is built lands in bin/, and what is released in dist/.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:

NAME := kubernetes-deployment-restart-controller
VERSION = $(shell sed -nE 's/^(const |\t)version += "(.*)"$$/\2/p' $(NAME).go)
COMMIT = $(shell git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null || echo unknown)
IMAGE ?= $(NAME):$(VERSION)
CONTAINER_TOOL ?= docker
# When it was committed, in seconds since 1970: the time of everything in the image.
COMMITTED = $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
ARCHITECTURES := amd64 arm64
PLUGIN_PLATFORMS ?= linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64
COSIGN_VERSION := v3.1.3
# For the tests of the status page: the version of axe-core, and the checksum of its package.
AXE := 4.14.1
AXE_SUM := e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745
FUZZTIME ?= 1m
ROLLOUTS ?= 500000
FLEETS ?= 100000
HISTORIES ?= 100000
DIFFERENTIALS ?= 10000

# One set of build flags for everything, so that the steps share the build cache: a package of Kubernetes that vet or
# the linter needed is not compiled again for the binary. The timeout is that of a package's tests: it only ends what hangs,
# and a busy machine may take long.
export CGO_ENABLED := 0
export GOFLAGS := $(GOFLAGS) -trimpath -buildvcs=false -timeout=2h

# The race detector needs a C compiler; without one the tests run all the same.
RACE ?= $(shell command -v $$(go env CC) >/dev/null && echo -race)

# Where the tests, the benchmarks and play find what they start.
export CONTROLLER_BINARY := $(CURDIR)/bin/$(NAME)
export LOCALCLUSTER_BINARY := $(CURDIR)/bin/localcluster
export HELM_BINARY := $(CURDIR)/bin/helm
export PROMTOOL_BINARY := $(CURDIR)/bin/promtool
export PLUGIN_BINARY := $(CURDIR)/bin/kubectl-restarts

PROGRESS := tools/build-with-progress
LOCALCLUSTER_SOURCES := $(shell find localcluster -type f ! -name '*_test.go' ! -name '*.md')
MODULES := . localcluster kubectl-restarts test/browser test/gitops tools

.PHONY: help
help: ## List the targets
	@echo 'make TARGET, where TARGET is one of'
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##### Build

BUILD = go build -ldflags '-s -w -X main.commit=$(COMMIT)'

.PHONY: build
build: ## Build the controller
	@$(BUILD) -o bin/$(NAME) .

BUILD_PLUGIN = go build -C kubectl-restarts -ldflags '-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)'

.PHONY: plugin
plugin: ## Build the kubectl plugin, bin/kubectl-restarts
	@$(BUILD_PLUGIN) -o ../bin/kubectl-restarts .
	@cp kubectl-restarts/kubectl_complete-restarts bin/

.PHONY: localcluster
localcluster: bin/localcluster ## Build the local cluster (minutes the first time)

# The version of Kubernetes must be set by hand: without it kubectl cannot parse what the API server answers.
bin/localcluster: $(LOCALCLUSTER_SOURCES)
	@echo 'local cluster: building Kubernetes, etcd and KWOK from source; the first time this takes about 5 minutes on 2 cores'
	@version=$$(cd localcluster && go list -m -f '{{.Version}}' k8s.io/kubernetes); \
	IFS=. read -r major minor _ <<<"$${version#v}"; \
	pkg=k8s.io/component-base/version; \
	$(PROGRESS) 'local cluster' go build -C localcluster -o ../bin/localcluster \
		-ldflags "-s -w -X $$pkg.gitVersion=$$version -X $$pkg.gitMajor=$$major -X $$pkg.gitMinor=$$minor" .
	@touch bin/localcluster

bin/golangci-lint: tools/go.mod tools/go.sum
	@echo 'golangci-lint: building the pinned version; the first time this takes about 2 minutes on 2 cores'
	@$(PROGRESS) golangci-lint go build -C tools -o ../bin/golangci-lint -ldflags '-s -w' \
		github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch bin/golangci-lint

bin/helm: tools/go.mod tools/go.sum
	@echo 'helm: building the pinned version; the first time this takes about 2 minutes on 2 cores'
	@$(PROGRESS) helm go build -C tools -o ../bin/helm -ldflags '-s -w' helm.sh/helm/v4/cmd/helm
	@touch bin/helm

bin/crane: tools/go.mod tools/go.sum
	@$(PROGRESS) crane go build -C tools -o ../bin/crane -ldflags '-s -w' github.com/google/go-containerregistry/cmd/crane
	@touch bin/crane

# It has requirements of its own, which would change those of the other tools. The checksum database vouches for it.
bin/cosign: Makefile
	@echo 'cosign: building the pinned version; the first time this takes some minutes'
	@GOBIN=$(CURDIR)/bin $(PROGRESS) cosign go install -ldflags '-s -w' github.com/sigstore/cosign/v3/cmd/cosign@$(COSIGN_VERSION)
	@touch bin/cosign

# Without the code that finds targets in clouds, which rules do not need.
bin/promtool: tools/go.mod tools/go.sum
	@echo 'promtool: building the pinned version; the first time this takes about a minute on 2 cores'
	@$(PROGRESS) promtool go build -C tools -o ../bin/promtool -tags remove_all_sd -ldflags '-s -w' \
		github.com/prometheus/prometheus/cmd/promtool
	@touch bin/promtool

# It is no part of what is built, and without npm one test is skipped.
bin/axe-$(AXE).js:
	@mkdir -p bin
	@if npm pack --silent --fetch-retries=1 --pack-destination bin axe-core@$(AXE) >/dev/null; then \
		echo '$(AXE_SUM)  bin/axe-core-$(AXE).tgz' | sha256sum --check --quiet && \
		tar -xzOf bin/axe-core-$(AXE).tgz package/axe.min.js >$@.part && mv $@.part $@; \
	else \
		echo 'axe-core $(AXE) cannot be fetched with npm, so the test that uses it is skipped' >&2; \
	fi

.PHONY: bin/play bin/bench bin/soak bin/testreport bin/image bin/archive bin/listings bin/release
bin/play bin/bench bin/soak: # the go command knows best whether they are out of date
	@go build -o $@ ./test/$(@F)
bin/testreport bin/image bin/archive bin/listings bin/release:
	@go build -C tools -o ../$@ ./$(@F)

.PHONY: image
image: bin/image binaries ## Build the container image into dist/, without a container engine (IMAGE=name:tag)
	@bin/image -version $(VERSION) -commit $(COMMIT) -created $(COMMITTED) -tag '$(IMAGE)' \
		$(foreach a,$(ARCHITECTURES),$(a)=dist/$(NAME)-$(VERSION)-linux-$(a))

.PHONY: plugin-image
plugin-image: bin/image ## Build the container image of the kubectl plugin into dist/, for Jobs
	@$(foreach a,$(ARCHITECTURES),GOOS=linux GOARCH=$(a) \
		$(PROGRESS) 'plugin for linux-$(a)' $(BUILD_PLUGIN) -o ../bin/kubectl-restarts-linux-$(a) .;)
	@bin/image -program kubectl-restarts -version $(VERSION) -commit $(COMMIT) -created $(COMMITTED) \
		$(foreach a,$(ARCHITECTURES),$(a)=bin/kubectl-restarts-linux-$(a))

.PHONY: docker-image
docker-image: ## Build the container image with Docker or Podman instead (IMAGE=name:tag, CONTAINER_TOOL=docker)
	$(CONTAINER_TOOL) build --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) -t '$(IMAGE)' .

.PHONY: binaries
binaries:
	@$(foreach a,$(ARCHITECTURES),GOOS=linux GOARCH=$(a) \
		$(PROGRESS) 'binary for linux/$(a)' $(BUILD) -o dist/$(NAME)-$(VERSION)-linux-$(a) .;)

.PHONY: plugin-archives
plugin-archives: bin/archive ## Build the kubectl plugin for all platforms into dist/ (minutes the first time)
	@$(foreach p,$(PLUGIN_PLATFORMS),GOOS=$(firstword $(subst -, ,$p)) GOARCH=$(lastword $(subst -, ,$p)) \
		$(PROGRESS) 'plugin for $p' $(BUILD_PLUGIN) -o ../bin/kubectl-restarts-$p .;)
	@bin/archive -version $(VERSION) -created $(COMMITTED) -with kubectl-restarts/kubectl_complete-restarts -with LICENSE \
		$(foreach p,$(PLUGIN_PLATFORMS),$p=bin/kubectl-restarts-$p)

.PHONY: listings
listings: plugin-archives bin/listings ## Build these archives, and the krew manifest and the Homebrew formula that name them
	@bin/listings -version $(VERSION) $(PLUGIN_PLATFORMS)

.PHONY: version
version:
	@$(if $(filter command line,$(origin VERSION)),,echo 'give the version, as in: make release VERSION=2.1.0' >&2; exit 2)

.PHONY: release
release: version build bin/release bin/helm ## Check that everything names VERSION=x.y.z, and put what is released into dist/
	@bin/release -version '$(VERSION)'
	@rm -rf dist
	@$(MAKE) --no-print-directory image plugin-image listings
	@bin/helm package charts/$(NAME) --destination dist
	@git archive --prefix=$(NAME)-$(VERSION)/ -o dist/$(NAME)-$(VERSION)-manifests.tar.gz HEAD k8s-manifests examples LICENSE
	@cd dist && find * -type f | sort | xargs sha256sum >../SHA256SUMS && mv ../SHA256SUMS .
	@echo 'dist/SHA256SUMS: the checksums of all files; docs/releasing.md says how they are signed and published'

##### Publish: what the release workflow does with dist/ after make release, in this order

# The registry is a host and a path below it. The chart names the image, so the image must go where the chart says.
REPOSITORY = $(shell sed -nE 's/^  repository: (.*)$$/\1/p' charts/$(NAME)/values.yaml)

.PHONY: registry
registry:
	@if [[ "$${REGISTRY-}/$(NAME)" != '$(REPOSITORY)' ]]; then \
		echo 'the chart says that the image is $(REPOSITORY), so REGISTRY must be $(patsubst %/$(NAME),%,$(REPOSITORY))' >&2; exit 2; \
	fi

.PHONY: login
login: registry bin/crane ## Log in to REGISTRY, with the variables REGISTRY_USER and REGISTRY_PASSWORD
	@bin/crane auth login "$${REGISTRY%%/*}" --username "$$REGISTRY_USER" --password-stdin <<<"$$REGISTRY_PASSWORD"

.PHONY: push
push: version registry bin/crane bin/helm bin/cosign ## Push images and chart to REGISTRY, and sign them (VERSION=x.y.z)
	@image=$$(bin/crane push dist/oci "$$REGISTRY/$(NAME):$(VERSION)"); \
	bin/cosign sign --yes "$$image"
	@image=$$(bin/crane push dist/oci-kubectl-restarts "$$REGISTRY/kubectl-restarts:$(VERSION)"); \
	bin/cosign sign --yes "$$image"
	@said=$$(bin/helm push dist/$(NAME)-$(VERSION).tgz "oci://$$REGISTRY/charts" 2>&1) || { echo "$$said" >&2; exit 1; }; \
	echo "$$said"; \
	bin/cosign sign --yes "$$REGISTRY/charts/$(NAME)@$$(sed -n 's/^Digest: //p' <<<"$$said")"

.PHONY: sign
sign: bin/cosign ## Sign the checksums
	@bin/cosign sign-blob --yes --bundle dist/SHA256SUMS.sigstore.json dist/SHA256SUMS

.PHONY: github-release
github-release: version ## Make the release of GitHub from the files in dist/ (VERSION=x.y.z)
	@if ! [[ -s dist/SHA256SUMS.sigstore.json ]]; then echo 'the checksums are not signed: make sign' >&2; exit 2; fi
	@cd dist && sha256sum --check --quiet SHA256SUMS
	@gh release create 'v$(VERSION)' --verify-tag --title 'v$(VERSION)' --notes-file dist/CHANGES.md \
		$$(find dist -maxdepth 1 -type f | sort)

##### Try

.PHONY: run
run: bin/localcluster build plugin bin/play ## Start a local cluster with the controller and an example; Ctrl-C ends it
	@exec bin/play run

.PHONY: demo
demo: bin/localcluster build bin/play ## Play the story: a config is edited, its workload restarts once, its pods roll
	@exec bin/play demo

.PHONY: demo-fan-out
demo-fan-out: bin/localcluster build bin/play ## Play a bad edit: one of 20 workloads breaks, the others are spared (a minute)
	@exec bin/play demo-fan-out

.PHONY: demo-rollout
demo-rollout: bin/localcluster build plugin bin/play ## Play a bad release: one of 8 pods breaks, the others are spared; then a good one
	@exec bin/play demo-rollout

##### Check

# The control planes of older versions of Kubernetes, each from its own module requirements; 1.36 has the go.mod.
OLDER_VERSIONS := 1.36 1.35 1.34

bin/controlplane-%: $(wildcard localcluster/controlplane/*)
	@modfile=$*.mod; [[ -f localcluster/controlplane/$$modfile ]] || modfile=go.mod; \
	version=$$(sed -nE 's|^\tk8s.io/kubernetes (v.*)|\1|p' localcluster/controlplane/$$modfile); \
	echo "control plane $$version: building it from source; the first time this takes about 5 minutes on 2 cores"; \
	IFS=. read -r major minor _ <<<"$${version#v}"; \
	pkg=k8s.io/component-base/version; \
	$(PROGRESS) "control plane $$version" go build -C localcluster/controlplane -modfile=$$modfile -o ../../$@ \
		-ldflags "-s -w -X $$pkg.gitVersion=$$version -X $$pkg.gitMajor=$$major -X $$pkg.gitMinor=$$minor" .
	@touch $@

.PHONY: test-versions
test-versions: bin/localcluster bin/helm bin/promtool build plugin $(OLDER_VERSIONS:%=bin/controlplane-%) bin/testreport ## Run the end-to-end tests on older versions of Kubernetes (an hour)
	@failed=; for version in $(OLDER_VERSIONS); do \
		echo "== end-to-end tests on Kubernetes $$version"; \
		CONTROL_PLANE_BINARY=$(CURDIR)/bin/controlplane-$$version \
			go test -json -count=1 -p 1 ./test $(if $(RUN),-run '$(RUN)') | bin/testreport || failed+=" $$version"; \
	done; \
	if [[ -n $$failed ]]; then echo "failed on:$$failed" >&2; exit 1; fi

# The end-to-end tests and the soak each fill a small machine; of the others, which wait a good deal, two packages go at once.
.PHONY: test
test: bin/localcluster bin/helm bin/promtool bin/axe-$(AXE).js build plugin bin/testreport ## Run all tests, the end-to-end ones on the local cluster included
	@$(if $(RACE),:,echo 'no C compiler: the tests run without the race detector')
	@{ echo '== unit tests' && \
	  $(RACE_TEST) -json $(UNIT_PACKAGES) && \
	  $(call UNRACED_TEST,-json) && \
	  go test -C tools -json ./... && \
	  go test -C kubectl-restarts -json ./... && \
	  echo '== the local cluster' && \
	  go test -C localcluster -json $(call packages_of,localcluster) && \
	  echo '== end-to-end tests' && \
	  go test -json -count=1 -p 1 ./test ./test/soak && \
	  go test -json -count=1 -p 2 $$(go list ./test/... | grep -vE '/test(/soak|/documents)?$$') && \
	  echo '== the health checks of GitOps tools' && \
	  go test -C test/gitops -json -count=1 ./... && \
	  echo '== the status page in Chromium' && \
	  go test -C test/browser -json -count=1 ./... ; } | bin/testreport

.PHONY: test-unit
test-unit: ## Run the tests that need no cluster
	@$(RACE_TEST) $(UNIT_PACKAGES)
	@$(call UNRACED_TEST)
	@go test -C kubectl-restarts -short ./...

# Not for the local cluster: its module has versions of its own, so client-go would be compiled for the race detector
# once more, which takes minutes.
RACE_TEST = CGO_ENABLED=$(if $(RACE),1,0) go test $(RACE)
# The packages with simulations of very many histories and with bounds of memory, for which the race detector is too
# slow and in which it has nothing to find: with it, they are shorter or left out. Their build tags tell.
UNRACED_TEST = $(if $(RACE),go test $(1) $$(grep -rlE '^//go:build .*\<race\>' --include='*_test.go' catalog controller deployment internal | xargs -n1 dirname | sort -u | sed 's|^|./|'),true)
UNIT_PACKAGES = $$(go list ./... | grep -v '^$(NAME)/test\(/\|$$\)') ./test/documents

# The packages of a module to vet, to lint and to test. Of the local cluster, only its own code: package main there is
# two small files that import all of Kubernetes, and to look at them every tool first works through 2,400 packages.
packages_of = $(if $(filter localcluster,$(1)),./internal/...,./...)

.PHONY: parity
parity: bin/localcluster build ## Compare the deployment engine with Kubernetes' own controller (SEED=1 COUNT=100 for random scenarios)
	@go test -count=1 ./test/parity $(if $(SEED)$(COUNT),-run TestRandomScenarios) \
		$(if $(SEED),-seed $(SEED)) $(if $(COUNT),-plays $(COUNT))

.PHONY: verify
verify: check-format check-tidy check-docs vet lint ## Check formatting, modules, generated tables, vet and lint

.PHONY: check-format
check-format:
	@echo '== gofmt'
	@unformatted=$$(gofmt -l .); \
	if [[ -n $$unformatted ]]; then printf 'not formatted (run make fmt):\n%s\n' "$$unformatted"; exit 1; fi

.PHONY: check-tidy
check-tidy:
	@for module in $(MODULES); do \
		echo "== go mod tidy: $$module"; \
		go mod tidy -C $$module -diff || { echo "not tidy (run go mod tidy in $$module)"; exit 1; }; \
	done

.PHONY: check-docs
check-docs:
	@echo '== the tables in docs/ and the files of the chart that are made from the code'
	@go test -run '^TestTheGeneratedTables' ./test/documents

.PHONY: vet
vet:
	@$(foreach module,$(MODULES),echo '== go vet: $(module)'; go vet -C $(module) $(call packages_of,$(module));)

.PHONY: lint
lint: bin/golangci-lint ## Run golangci-lint (minutes the first time, to build it)
	@$(foreach module,$(MODULES),echo '== golangci-lint: $(module)'; \
		(cd $(module) && $(CURDIR)/bin/golangci-lint run $(call packages_of,$(module)));)

.PHONY: fmt
fmt: ## Format the Go code
	@gofmt -l -w .

.PHONY: docs
docs: ## Make the tables of flags, Events, metrics and log messages in docs/, and files of the chart, from the code
	@go test -run '^TestTheGeneratedTables' ./test/documents -update

.PHONY: fuzz
fuzz: ## Fuzz and simulate with new seeds (FUZZTIME=1m each, ROLLOUTS, FLEETS, HISTORIES, DIFFERENTIALS)
	@grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -r -n1 dirname | sort -u | while read -r dir; do \
		for name in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]+)\(.*/\1/p' $$dir/*_test.go); do \
			echo "== $$name, $(FUZZTIME)"; \
			go test -C $$dir -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) .; \
		done; \
	done
	@echo '== histories of a workload and its config: $(HISTORIES)'
	@go test -count=1 -timeout 0 -run '^Test(PodsRestartIfAndOnlyIf|NoRestartIsLostWhere)' ./catalog/decide -rapid.checks $(HISTORIES)
	@seed=$${SEED:-$$RANDOM$$RANDOM}; echo "== rollouts: $(ROLLOUTS), SEED=$$seed"; \
	go test -count=1 -timeout 0 -run '^TestRolloutsKeepTheirLimits' ./deployment -simulation.rollouts $(ROLLOUTS) -simulation.seed $$seed; \
	echo "== fleets: $(FLEETS), SEED=$$seed"; \
	go test -count=1 -timeout 0 -run '^TestFleetsRestartGradually' ./controller/gate -simulation.fleets $(FLEETS) -simulation.seed $$seed; \
	echo "== histories of a Deployment, played to Kubernetes' own controller, too: $(DIFFERENTIALS), SEED=$$seed"; \
	go test -C localcluster -count=1 -timeout 0 ./internal/differential -differential.histories $(DIFFERENTIALS) -differential.seed $$seed

.PHONY: screenshots
screenshots: bin/localcluster build ## Make the pictures of the status page in docs/images/, with Chromium
	@SCREENSHOTS=$(CURDIR)/docs/images REQUIRE_CHROMIUM=1 \
		go test -C test/browser -count=1 -run '^TestThePagesFollowACluster$$' .

.PHONY: bench
bench: bin/localcluster build bin/bench ## Measure the controller on the local cluster and print a table
	@exec bin/bench

.PHONY: soak
soak: bin/localcluster build bin/soak ## Disturb hundreds of workloads and judge (SEED=1 DURATION=10m WORKLOADS=300)
	@exec bin/soak $(if $(SEED),-seed $(SEED)) $(if $(DURATION),-duration $(DURATION)) $(if $(WORKLOADS),-workloads $(WORKLOADS))

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin dist coverage.out
