package overview

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// remedies are what helps workloads, by their names.
type remedies map[status.Remedy][]string

func (r remedies) add(remedy status.Remedy, namespace, name string, options printers.PrintOptions) {
	if remedy == "" {
		return
	}
	if options.WithNamespace {
		name += " in " + namespace
	}
	r[remedy] = append(r[remedy], name)
}

// someHelped is how many workloads are named that the same helps.
const someHelped = 3

func (r remedies) print(w io.Writer) {
	for _, remedy := range slices.Sorted(maps.Keys(r)) {
		fmt.Fprintf(w, "What helps %s: %s.\n", text.Safe(text.List(r[remedy], someHelped)), text.Safe(string(remedy)))
	}
}
