package command_test

import (
	"fmt"
	"strings"
	"testing"
)

// haltsWith is the ConfigMap of halts with a further entry.
func haltsWith(entry string) string {
	return `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"halts","resourceVersion":"5"},"data":{"shop":"[]"` + entry + `}}`
}

const everywhere = "--namespace="

func TestEverythingIsHeldByAnEntryOfTheConfigMapOfHalts(t *testing.T) {
	s := newServer(t)
	s.objects[haltsPath] = haltsWith("")
	const release = "From about 10 seconds on, no restart of any workload begins in any namespace, until you run: kubectl restarts unhold --all-workloads"
	if code, stdout, stderr := s.run(t.Context(), "hold", everywhere, "--all-workloads", "incident", "42", "--dry-run=client"); code != 0 || len(s.writes) > 0 || stdout != "all restarts held (client dry run)\n"+release+"\n" {
		t.Errorf("%d, %s%s, %v", code, stdout, stderr, s.writes)
	}
	for _, more := range []string{"--dry-run", "--dry-run=none"} {
		if code, stdout, stderr := s.run(t.Context(), "hold", everywhere, "--all-workloads", "incident 42", more); code != 0 || !strings.Contains(stdout, release) || stderr != "" {
			t.Errorf("%d, %s%s", code, stdout, stderr)
		}
	}
	const patch = ` {"data":{"hold":"incident 42"},"metadata":{"resourceVersion":"5"}}`
	want := []string{haltsPath + "?dryRun=All&fieldManager=kubectl-restarts" + patch, haltsPath + "?fieldManager=kubectl-restarts" + patch}
	if fmt.Sprint(s.writes) != fmt.Sprint(want) {
		t.Errorf("the writes are\n%v, want\n%v", s.writes, want)
	}
}

func TestTheReasonOfSomebodyElseIsNotReplaced(t *testing.T) {
	s := newServer(t)
	s.objects[haltsPath] = haltsWith(`,"hold":"incident 41\u001b[2J"`)
	code, _, stderr := s.run(t.Context(), "hold", everywhere, "--all-workloads", "incident 42")
	if code != 1 || len(s.writes) > 0 || stderr != `error: all restarts are held already: incident 41\u001b[2J; replace the reason with --overwrite`+"\n" {
		t.Errorf("%d, %q, %v", code, stderr, s.writes)
	}
	if code, stdout, stderr := s.run(t.Context(), "hold", everywhere, "--all-workloads", "incident 42", "--overwrite"); code != 0 || len(s.writes) != 1 {
		t.Errorf("%d, %s%s, %v", code, stdout, stderr, s.writes)
	}
	// The controller writes to the ConfigMap at any time.
	s.objects[haltsPath], s.conflict, s.settles, s.writes = haltsWith(""), haltsPath, 2, nil
	if code, stdout, stderr := s.run(t.Context(), "hold", everywhere, "--all-workloads", "incident 42"); code != 0 || len(s.writes) != 1 {
		t.Errorf("while the controller writes: %d, %s%s, %v", code, stdout, stderr, s.writes)
	}
	s.conflict, s.settles = haltsPath, 1
	s.onRead = func(string) {
		if s.conflict == "" {
			s.objects[haltsPath] = haltsWith(`,"hold":"incident 43"`)
		}
	}
	if code, _, stderr := s.run(t.Context(), "hold", everywhere, "--all-workloads", "incident 42"); code != 1 || !strings.Contains(stderr, "held already: incident 43") || len(s.writes) != 1 {
		t.Errorf("somebody else holds at the same time: %d, %s, %v", code, stderr, s.writes)
	}
}

func TestTheHoldOfEverythingIsRemoved(t *testing.T) {
	s := newServer(t)
	s.objects[haltsPath] = haltsWith(`,"hold":"incident 42"`)
	if code, stdout, stderr := s.run(t.Context(), "unhold", everywhere, "--all-workloads", "--dry-run=client"); code != 0 || len(s.writes) > 0 || !strings.HasPrefix(stdout, "all restarts not held any more (client dry run)\n") {
		t.Errorf("%d, %s%s, %v", code, stdout, stderr, s.writes)
	}
	code, stdout, stderr := s.run(t.Context(), "unhold", everywhere, "--all-workloads")
	want := []string{haltsPath + `?fieldManager=kubectl-restarts [{"op":"test","path":"/data/hold","value":"incident 42"},{"op":"remove","path":"/data/hold"}]`}
	if code != 0 || !strings.HasSuffix(stdout, "by the usual rules, unless something else holds them. The reason was: incident 42\n") || fmt.Sprint(s.writes) != fmt.Sprint(want) {
		t.Errorf("%d, %s%s, the writes are\n%v, want\n%v", code, stdout, stderr, s.writes, want)
	}
	s.replaced = haltsPath
	if code, stdout, stderr := s.run(t.Context(), "unhold", everywhere, "--all-workloads"); code != 1 || stdout != "" || !strings.Contains(stderr, "the hold of all restarts (incident 42) was not removed: it has just changed") {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
	s.objects[haltsPath] = haltsWith("")
	if code, stdout, stderr := s.run(t.Context(), "unhold", everywhere, "--all-workloads"); code != 1 || stdout != "" || stderr != "error: there is no hold of all restarts\n" {
		t.Errorf("%d, %s%s", code, stdout, stderr)
	}
}

func TestTheConfigMapOfHaltsThatCannotBeHeldIsNamed(t *testing.T) {
	for _, arguments := range [][]string{{"hold", everywhere, "--all-workloads", "why"}, {"unhold", everywhere, "--all-workloads"}} {
		s := newServer(t)
		if code, _, stderr := s.run(t.Context(), arguments...); code != 1 || !strings.Contains(stderr, "there is no configmap kubernetes-deployment-restart-controller-halts in namespace deployment-restart-controller, ") {
			t.Errorf("%v without it: %d, %s", arguments, code, stderr)
		}
		s.denied = haltsPath
		if code, _, stderr := s.run(t.Context(), arguments...); code != 1 || !strings.Contains(stderr, "you need permission to get and patch it in namespace deployment-restart-controller") {
			t.Errorf("%v without permission: %d, %s", arguments, code, stderr)
		}
	}
	s := newServer(t)
	s.objects["/api/v1/namespaces/ctl/configmaps/own"] = haltsWith("")
	if code, stdout, stderr := s.run(t.Context(), "hold", everywhere, "--all-workloads", "--controller-namespace=ctl", "--halts-config-map=own", "why"); code != 0 || !strings.HasSuffix(stdout, "unhold --all-workloads --controller-namespace=ctl --halts-config-map=own\n") {
		t.Errorf("elsewhere: %d, %s%s", code, stdout, stderr)
	}
}
