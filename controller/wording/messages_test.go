package wording

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kubernetes-deployment-restart-controller/catalog/decide"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/internal/status"
)

func TestARestartNamesConfigsAndKeysButNotThoseOfSecrets(t *testing.T) {
	secret := names.ConfigRef{Kind: names.Secret, Namespace: "ns", Name: "tls"}
	for _, test := range []struct {
		name   string
		causes []decide.Cause
		want   string
		note   string
	}{
		{"keys of a configmap", []decide.Cause{{Config: objecttest.MapA, Keys: []string{"x", "y"}}}, "configmap a changed (keys: x, y)", "configmap/a: x, y"},
		{"a change that nobody saw", []decide.Cause{{Config: objecttest.MapA}}, "configmap a changed (keys unknown)", "configmap/a: keys unknown"},
		{"one key of a secret", []decide.Cause{{Config: secret, Keys: []string{"x"}}}, "secret tls changed (1 key)", "secret/tls: 1 key"},
		{"keys of a secret", []decide.Cause{{Config: secret, Keys: []string{"x", "y"}}}, "secret tls changed (2 keys)", "secret/tls: 2 keys"},
		{"several configs", []decide.Cause{{Config: objecttest.MapA, Keys: []string{"x"}}, {Config: secret}}, "configmap a changed (keys: x); secret tls changed (keys unknown)", "configmap/a: x; secret/tls: keys unknown"},
		{"more keys than are remembered", []decide.Cause{{Config: objecttest.MapA, Keys: []string{"x", "y"}, MoreKeys: 2, Unnamed: true}}, "configmap a changed (keys: x, y and at least 2 more)", "configmap/a: x, y and at least 2 more"},
		{"more keys of a Secret than are remembered", []decide.Cause{{Config: secret, Keys: []string{"x", "y"}, MoreKeys: 2, Unnamed: true}}, "secret tls changed (at least 4 keys)", "secret/tls: at least 4 keys"},
		{"very many keys", []decide.Cause{{Config: objecttest.MapA, Keys: []string{"x", "y"}, MoreKeys: 2}}, "configmap a changed (keys: x, y and 2 more)", "configmap/a: x, y and 2 more"},
		{"very many keys of a secret", []decide.Cause{{Config: secret, Keys: []string{"x", "y"}, MoreKeys: 2}}, "secret tls changed (4 keys)", "secret/tls: 4 keys"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Causes(decide.Decision{Causes: test.causes}); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if got := CauseNote(decide.Decision{Causes: test.causes}); got != test.note {
				t.Errorf("in the pod template: got %s\nwant %s", got, test.note)
			}
			if got, want := Causes(decide.Decision{Causes: test.causes, MoreCauses: 3}), test.want+"; and 3 more"; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestTheCauseTakesLittleOfThePodTemplate(t *testing.T) {
	var causes []decide.Cause
	for range 10 {
		causes = append(causes, decide.Cause{Config: objecttest.MapA, Keys: slices.Repeat([]string{strings.Repeat("k", 253)}, 10)})
	}
	if note := CauseNote(decide.Decision{Causes: causes}); len(note) != 512 || !strings.HasSuffix(note, "[cut]") {
		t.Errorf("%d bytes: %s", len(note), note)
	}
}

func TestWhatKeepsChangingIsReportedWithItsWriters(t *testing.T) {
	secret := names.ConfigRef{Kind: names.Secret, Namespace: "ns", Name: "tls"}
	for name, test := range map[string]struct {
		cause decide.Cause
		want  string
	}{
		"keys of a configmap": {decide.Cause{Config: objecttest.MapA, Keys: []string{"x"}, Writers: []string{"helm"}}, "configmap a keeps changing (keys: x; written by helm)"},
		"keys of a secret":    {decide.Cause{Config: secret, Keys: []string{"x", "y"}, Writers: []string{"a", "b"}}, "secret tls keeps changing (2 keys; written by a, b)"},
		"nobody saw it":       {decide.Cause{Config: secret, Writers: []string{"a"}}, "secret tls keeps changing (keys unknown; written by a)"},
		"very many writers": {
			decide.Cause{Config: objecttest.MapA, Writers: []string{"a", "b"}, MoreWriters: 998}, "configmap a keeps changing (keys unknown; written by a, b and 998 more)",
		},
		"a key was removed": {decide.Cause{Config: objecttest.MapA, Keys: []string{"x"}}, "configmap a keeps changing (keys: x)"},
	} {
		if got := CausesWithWriters(decide.Decision{Causes: []decide.Cause{test.cause}}); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// allHolds returns all constants of the type Hold, as the source of the catalog declares them.
func allHolds(t *testing.T) []workload.Hold {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../catalog/workload/object.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var holds []workload.Hold
	for _, declaration := range file.Decls {
		constants, isGeneral := declaration.(*ast.GenDecl)
		if !isGeneral || constants.Tok != token.CONST {
			continue
		}
		if typ, isName := constants.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident); isName && typ.Name == "Hold" {
			for value := range constants.Specs { // they are numbered
				holds = append(holds, workload.Hold(value))
			}
		}
	}
	return holds
}

func TestOnlyAHoldLeavesSomethingToDo(t *testing.T) {
	want := map[workload.Hold]string{
		workload.NoHold:            "",
		workload.Paused:            ". The deployment is paused: its pods restart when it is resumed",
		workload.OnDelete:          ". The update strategy of the deployment is OnDelete: each pod restarts when it is deleted",
		workload.Partitioned:       ". The deployment has a partition: pods with an ordinal below it keep running until it is lowered",
		workload.PartlyPartitioned: ". The deployment has a partition: pods with an ordinal below it keep running until it is lowered",
		workload.Untriggered:       ". It has no trigger of the type ConfigChange: its pods restart with its next rollout",
		workload.InPlace:           ". The restart is held: its update strategy updates pods in place, which restarts nothing: set it to ReCreate",
	}
	got := make(map[workload.Hold]string)
	for _, hold := range allHolds(t) {
		got[hold] = Hold(&workload.Workload{Object: workload.Object{Ref: objecttest.Web, Hold: hold}})
		if hold != workload.NoHold && got[hold] == "" {
			t.Errorf("no text for the hold %d", hold)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

func TestAWorkloadIsDisabledForLackOfAnyAnnotationThatCounts(t *testing.T) {
	own := `config changes no longer restart this workload: its annotation com.xing.deployment-restart is not "enabled"`
	if got := Disabled(&kinds.WorkloadObservation{}, nil); got != own {
		t.Errorf("got %s", got)
	}
	want := own + ", and no annotation of reloader enables it (last written by helm)"
	if got := Disabled(&kinds.WorkloadObservation{LastWriter: "helm"}, []optin.Dialect{optin.Reloader}); got != want {
		t.Errorf("got %s", got)
	}
}

func TestAWaitForAnEarlierWaveNamesAWorkloadAndNoMoreThanIsKnownOfIt(t *testing.T) {
	early := gate.Blocker{Wave: -1, Workload: objecttest.DeploymentNamed("a/early")}
	held, refused := early, early
	held.Reason, refused.IsFailing = gate.Hold, true
	for want, blocker := range map[string]gate.Blocker{
		"an earlier wave was not over":                                                             {},
		"wave -1 is not over: deployment/early rolls, or is about to":                              early,
		"wave -1 is not over: deployment/early waits for its hold":                                 held,
		"wave -1 is not over: deployment/early could not be restarted yet, and its Events say why": refused,
	} {
		if got := EarlierWave(blocker); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAFailureNamesTheCommandThatShowsIt(t *testing.T) {
	for want, seen := range map[string]gate.Evidence{
		"": {},
		"; look with: kubectl logs -n a web-1 -c app --previous": {Pod: "web-1", Container: "app", HasRestarted: true},
		"; look with: kubectl describe pod -n a web-1":           {Pod: "web-1", Container: "app"},
	} {
		if got := status.LookWith(seen.Command("a")); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
