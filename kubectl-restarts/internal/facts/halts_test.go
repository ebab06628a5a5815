package facts_test

import (
	"testing"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
)

func TestTheOwnerOfAConfigResumesTheHaltsOfItsReadersElsewhere(t *testing.T) {
	for name, want := range map[string]string{
		"flags":        "kubectl restarts resume -n team-a configmap/flags id",
		"shared/flags": "kubectl restarts resume -n shared configmap/flags id",
	} {
		h := &gate.Halt{ID: "id", Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "team-a", Name: name}}
		if got := facts.ResumeCommand(h); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestThePluginNamesOneCommandThatResumes(t *testing.T) {
	const text = "revert it, or resume with: kubectl annotate --overwrite -n shop configmap/web com.xing.deployment-restart.resume=k3v7x2ab. It is due"
	if got, want := facts.OwnCommands(text), "revert it, or resume with: kubectl restarts resume -n shop configmap/web k3v7x2ab. It is due"; got != want {
		t.Error(got)
	}
}
