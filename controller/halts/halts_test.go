package halts

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/optin"
	"kubernetes-deployment-restart-controller/controller/gate"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/intake"
	"kubernetes-deployment-restart-controller/controller/optedin"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/tracker"
)

// halting returns a keeper of halts, and a function that halts a config.
func halting(t *testing.T) (*Keeper, func(namespace, name string) string) {
	t.Helper()
	known, table := catalog.New(), tracker.New()
	g := gatekeeper.New(gatekeeper.Options{
		FanOut: gatekeeper.FanOutOptions{Gradual: true, Limit: 50}, Catalog: known, Wake: func(names.WorkloadRef) {},
		Notices: gatekeeper.NewNotices(slog.New(slog.DiscardHandler)), Members: table.Members(), Exposures: table.Exposures(), Log: slog.New(slog.DiscardHandler),
	})
	k := &Keeper{
		OptIns: optedin.NewOptIns(optin.Rules{}, nil),
		Gate:   g, Log: slog.New(slog.DiscardHandler), Restarter: restart.NewRestarter(restart.Parts{Table: table}, nil), Mistakes: &intake.Mistakes{},
		Scope: Scope{Watches: func(namespace string) bool { return namespace != "elsewhere" }},
	}
	return k, func(namespace, name string) string {
		config := names.ConfigRef{Kind: names.ConfigMap, Namespace: namespace, Name: name}
		ref := names.WorkloadRef{Kind: names.Deployment, Namespace: namespace, Name: "reader"}
		h := g.Ledger.Fail(&gate.Failure{Workload: ref, Config: config, Keys: []string{"k"}, Content: "c", Began: time.Now()}, gatekeeper.NewHaltID(), time.Now())
		return h.ID
	}
}

func TestHaltsAreReadAsTheyWereWritten(t *testing.T) {
	k, halt := halting(t)
	id := halt("a", "web")
	data, written := map[string]string{"configmap.elsewhere.x": "[]"}, make(map[string]string)
	if !k.WriteTo(data, written) || k.WriteTo(data, written) {
		t.Fatal("it was not written once")
	}
	if _, kept := data["configmap.elsewhere.x"]; !kept || len(data) != 2 {
		t.Errorf("the entries are %q", data)
	}
	next, _ := halting(t)
	next.TakeIn(data)
	restored := next.Gate.Records()
	if len(restored) != 1 || restored[0][0].ID != id || restored[0][0].Failed[0] != "deployment/a/reader" || next.Gate.Ledger.ActiveHalts() != 1 {
		t.Errorf("restored %+v", restored)
	}
}

func TestAHaltThatAPersonRemovesIsResumed(t *testing.T) {
	k, halt := halting(t)
	halt("a", "web")
	data := map[string]string{}
	k.written, k.hasTakenIn = make(map[string]string), true
	k.WriteTo(data, k.written)
	k.TakeIn(data)
	k.TakeIn(map[string]string{"configmap.a.web": "a typing error"})
	if k.Gate.Ledger.ActiveHalts() != 1 {
		t.Fatal("it is not active")
	}
	k.TakeIn(map[string]string{})
	if k.Gate.Ledger.ActiveHalts() != 0 {
		t.Error("it is active")
	}
}

func TestNamespacesWithManyHaltsLeaveRoomForTheOthers(t *testing.T) {
	k, halt := halting(t)
	long := strings.Repeat("x", 240)
	for i := range 150 {
		for j := range 15 {
			halt(fmt.Sprintf("hostile-%03d", i), fmt.Sprintf("%s-%d", long, j))
		}
	}
	halt("zoo", "web")
	data, written := map[string]string{}, make(map[string]string)
	k.WriteTo(data, written)
	size := 0
	for name, text := range data {
		size += len(name) + len(text)
	}
	if data["configmap.zoo.web"] == "" || size > haltsRoom || len(written) != len(data) {
		t.Errorf("%d bytes in %d entries for %d halts, that of the other namespace is %q", size, len(data), len(written), data["configmap.zoo.web"])
	}
}

// Nobody forgets the halts of namespaces that are gone.
func TestHaltsOfFormerContentsLeaveRoomForTheOthers(t *testing.T) {
	k, halt := halting(t)
	for i := range 400 {
		for j := range 16 {
			halt(fmt.Sprintf("former-%03d", i), fmt.Sprintf("%s-%d", strings.Repeat("x", 100), j))
		}
	}
	for _, config := range k.Gate.Halted() {
		k.Gate.ContentChanged(config, time.Now())
	}
	halt("zoo", "web")
	data := map[string]string{}
	if k.WriteTo(data, make(map[string]string)); data["configmap.zoo.web"] == "" {
		t.Error("the only active halt is not written")
	}
	if n := len(k.Gate.Halted()); n > 4001 {
		t.Errorf("%d are remembered", n)
	}
}

func TestTheHoldOfEverythingIsLoggedOnceAndSoIsItsEnd(t *testing.T) {
	k, _ := halting(t)
	var log strings.Builder
	k.Gate.Log = slog.New(slog.NewTextHandler(&log, nil))
	for _, step := range []struct {
		data map[string]string
		want string
	}{
		{map[string]string{}, ""},
		{map[string]string{gate.HoldEntry: "incident 42"}, `level=WARN msg="all restarts are held" why="incident 42"`},
		{map[string]string{gate.HoldEntry: "incident 42"}, ""},
		{map[string]string{gate.HoldEntry: "incident 43"}, `level=WARN msg="all restarts are held" why="incident 43"`},
		{map[string]string{}, `level=INFO msg="the hold of all restarts is over" was="incident 43"`},
		{map[string]string{}, ""},
	} {
		log.Reset()
		k.TakeIn(step.data)
		_, got, _ := strings.Cut(strings.TrimSpace(log.String()), " ") // without the time
		if got != step.want {
			t.Errorf("%q is logged as %q, want %q", step.data, got, step.want)
		}
	}
}

func TestWhatIsNoHaltIsIgnored(t *testing.T) {
	k, _ := halting(t)
	k.TakeIn(map[string]string{
		"a": "nonsense", "b": `[{"id":"x"}]`, "c": `[{"id":"x","config":"configmap/a","content":"c"}]`, "d": `{"id":3}`,
		"configmap.a.web": `[{"id":"x","config":"configmap/a/web","content":"c","failed":["nobody","deployment/a/web"]}]`,
		"hold":            " ",
	})
	if restored := k.Gate.Records(); len(restored) != 1 || len(restored[0]) != 1 || len(restored[0][0].Failed) != 1 {
		t.Errorf("restored %+v", restored)
	}
	if why := k.Gate.EverythingHeld(); why != "no reason given" {
		t.Errorf("everything is held: %q", why)
	}
}

// Nobody forgets the halts of former contents before a namespace has 64, and they hold nothing. What first readers are exposed to now is
// what the next leader needs.
func TestHaltsOfFormerContentsLeaveRoomForWhatWorkloadsAreExposedTo(t *testing.T) {
	k, halt := halting(t)
	for i := range 300 {
		for j := range 13 {
			halt(fmt.Sprintf("team-payments-%03d", i), fmt.Sprintf("backend-web-config-%d", j))
		}
	}
	for _, config := range k.Gate.Halted() {
		k.Gate.ContentChanged(config, time.Now())
	}
	k.Gate.Deadline = 10 * time.Minute
	k.Gate.RestoreExposure(gate.Exposure{
		Workload: names.WorkloadRef{Kind: names.Deployment, Namespace: "zoo", Name: "web"}, Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "zoo", Name: "web"},
		Content: "c", Until: time.Now().Add(10 * time.Minute),
	}, time.Now())
	if kept := k.Gate.KeptExposures(time.Now()); len(kept) != 1 {
		t.Fatal(kept)
	}
	data := map[string]string{}
	k.WriteTo(data, make(map[string]string))
	if data[gate.ExposedEntry("zoo")] == "" {
		t.Error("what the only first reader is exposed to is not written")
	}
}
