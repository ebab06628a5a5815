package gate

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

func TestWhatWorkloadsDoNotShowIsReadAsItWasWritten(t *testing.T) {
	hidden := []Hidden{
		{Workload: workload("a", "web"), Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "c"}, Keys: []string{"k"}, Content: "x", Until: start.UTC()},
		{Workload: workload("a", "web"), Config: names.ConfigRef{Kind: names.Secret, Namespace: "a", Name: "s"}, Content: "z", Until: start.Add(time.Minute).UTC()},
	}
	text, err := HiddenText(hidden)
	if err != nil {
		t.Fatal(err)
	}
	entries := ReadEntries(map[string]string{HiddenEntry("a"): text})
	if !reflect.DeepEqual(entries.Hidden, hidden) || len(entries.Halts)+len(entries.Unread) > 0 {
		t.Errorf("read is %+v, want %+v", entries, hidden)
	}
	entries = ReadEntries(map[string]string{
		HiddenEntry("a"): strings.ReplaceAll(text, "configmap/a/c", "nonsense"),
		HiddenEntry("b"): "[",
		HiddenEntry("c"): `[{"workload":"deployment/c/web","config":"configmap/c/c"}]`, // no content
	})
	if len(entries.Hidden) != 1 || entries.Hidden[0].Config.Name != "s" || len(entries.Unread) != 1 || entries.Unread[HiddenEntry("b")] == "" {
		t.Errorf("read is %+v", entries)
	}
}
