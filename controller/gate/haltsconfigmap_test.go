package gate

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"kubernetes-deployment-restart-controller/catalog/names"
)

func TestARecordOfAHaltIsReadAsItWasWritten(t *testing.T) {
	for _, ref := range []names.ConfigRef{
		{Kind: names.ConfigMap, Namespace: "a", Name: "web-config"}, {Kind: names.Secret, Namespace: "a", Name: "b/shared.tls"}, GroupOf(names.ConfigMap, "ca-bundle"),
	} {
		want := Halt{ID: "k3v7x2ab", Config: ref, Keys: []string{"A"}, Content: "4d2877b176f6a31c", Key: "0f1e2d3c4b5a6978", Failed: []names.WorkloadRef{workload("a", "web")}, Templates: []string{"a1b2c3"}, Since: time.Unix(9, 0).UTC()}
		record := want.Record()
		if got, isOne := record.Halt(); !isOne || !reflect.DeepEqual(want, got) {
			t.Errorf("%t: %+v, want %+v", isOne, got, want)
		}
	}
}

// People paste the command that ends a halt into a shell.
func TestARecordWithNamesThatTheAPIDoesNotAcceptIsNoHalt(t *testing.T) {
	for _, change := range []func(*HaltRecord){
		func(r *HaltRecord) { r.ID = "" },
		func(r *HaltRecord) { r.ID = "a; reboot" },
		func(r *HaltRecord) { r.ID = strings.Repeat("a", 300) },
		func(r *HaltRecord) { r.Config = "configmap/a/$(reboot)" },
		func(r *HaltRecord) { r.Config = "configmap/`reboot`/c" },
		func(r *HaltRecord) { r.Config = "configmap/a/b c/d" },
		func(r *HaltRecord) { r.Config = "configmap/a/b/*" },
		func(r *HaltRecord) { r.Config = "pod/a/c" },
		func(r *HaltRecord) { r.Content = "" },
	} {
		record := HaltRecord{ID: "h1", Config: "configmap/a/c", Content: "bad"}
		if _, isOne := record.Halt(); !isOne {
			t.Fatal("a good record is no halt")
		}
		change(&record)
		if h, isOne := record.Halt(); isOne {
			t.Errorf("%+v is a halt", h)
		}
	}
}

func TestConfigsOfDifferentNamesHaveDifferentEntries(t *testing.T) {
	long := strings.Repeat("x", 300)
	byEntry := make(map[string]string)
	for _, config := range []string{
		"", ".", "..", "secretproviderclass/a/db prod", "secretproviderclass/a/db!prod", "secretproviderclass/a/db_prod",
		"configmap/a/" + long + "1", "configmap/a/" + long + "2", "configmap/a/" + long + " ",
	} {
		entry := EntryOf(config)
		if other, found := byEntry[entry]; found {
			t.Errorf("%q and %q have the entry %s", config, other, entry)
		}
		byEntry[entry] = config
	}
}

// The API server rejects a ConfigMap as a whole if it does not accept the name of one entry.
func FuzzTheAPIServerAcceptsEachEntry(f *testing.F) {
	for _, config := range []string{
		"", ".", "../a", "configmap/a/c", "configmap/*/c", "configmap/a/others/flags", "secretproviderclass/a/db prod", "configmap/a/\xff\u00e9", strings.Repeat("\u00e9", 300),
	} {
		f.Add(config)
	}
	f.Fuzz(func(t *testing.T, config string) {
		if problems := validation.IsConfigMapKey(EntryOf(config)); len(problems) > 0 {
			t.Errorf("the entry of %q is %q: %s", config, EntryOf(config), problems)
		}
	})
}

// People paste the names into a shell.
func TestAHaltRecordNamesNoPodThatTheAPIWouldNotAccept(t *testing.T) {
	for _, r := range []HaltRecord{{Pod: "web; reboot"}, {Pod: "web", Container: "$(reboot)"}, {Container: "app"}} {
		r.ID, r.Config, r.Content = "id", "configmap/a/c", "x"
		if h, ok := r.Halt(); !ok || h.Evidence != (Evidence{}) {
			t.Errorf("%+v: %t, %+v", r, ok, h.Evidence)
		}
	}
}
