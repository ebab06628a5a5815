package command

import (
	"slices"
	"strings"
	"testing"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/cluster"
)

func TestEachKindOfKubernetesIsListedAndReadFromTheCommandLine(t *testing.T) {
	for _, kind := range names.KubernetesKinds {
		if read := workloadKinds[strings.ToLower(string(kind))]; read != kind {
			t.Errorf("the argument %s means %q", strings.ToLower(string(kind)), read)
		}
		if !slices.ContainsFunc(cluster.Kinds, func(k cluster.Kind) bool { return k.Kind == kind }) {
			t.Errorf("no row of cluster.Kinds lists %ss", kind)
		}
	}
}
