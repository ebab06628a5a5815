package gate

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog/names"
)

func TestWhatWorkloadsDoNotShowIsReadAsItWasWritten(t *testing.T) {
	hidden := []Exposure{
		{Workload: workload("a", "web"), Config: names.ConfigRef{Kind: names.ConfigMap, Namespace: "a", Name: "c"}, Keys: []string{"k"}, Content: "x", Until: start.UTC()},
		{Workload: workload("a", "web"), Config: names.ConfigRef{Kind: names.Secret, Namespace: "a", Name: "s"}, Content: "z", Until: start.Add(time.Minute).UTC()},
	}
	text, err := ExposedText(hidden)
	if err != nil {
		t.Fatal(err)
	}
	entries := ReadEntries(map[string]string{ExposedEntry("a"): text})
	if !reflect.DeepEqual(entries.Exposed, hidden) || len(entries.Halts)+len(entries.Unread) > 0 {
		t.Errorf("read is %+v, want %+v", entries, hidden)
	}
	entries = ReadEntries(map[string]string{
		ExposedEntry("a"): strings.ReplaceAll(text, "configmap/a/c", "nonsense"),
		ExposedEntry("b"): "[",
		ExposedEntry("c"): `[{"workload":"deployment/c/web","config":"configmap/c/c"}]`, // no content
	})
	if len(entries.Exposed) != 1 || entries.Exposed[0].Config.Name != "s" || len(entries.Unread) != 1 || entries.Unread[ExposedEntry("b")] == "" {
		t.Errorf("read is %+v", entries)
	}
}
