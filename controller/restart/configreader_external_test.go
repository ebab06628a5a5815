package restart_test

import (
	"log/slog"
	"testing"
	"time"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/controllertest"
	"kubernetes-deployment-restart-controller/controller/metrics"
	"kubernetes-deployment-restart-controller/controller/objecttest"
	"kubernetes-deployment-restart-controller/controller/restart"
	"kubernetes-deployment-restart-controller/controller/tracker"
)

// The list may be taken in at any time, also while a worker is about to look.
func TestAWorkloadIsDecidedAboutOnTheListedConfigs(t *testing.T) {
	c := catalog.New()
	w := workload.Workload{Object: workload.Object{Ref: names.WorkloadRef{Kind: names.Deployment, Namespace: "ns", Name: "web"}, ResourceVersion: "1"}, Record: record.Record{Room: 1000}}
	known := content.NewConfigMap(objecttest.ConfigMapOf("1"))
	w.References = []template.Reference{{Config: known.Ref}}
	c.ListWorkloads(names.Deployment, "", []*workload.Workload{&w}, 0, func(names.WorkloadRef) {})
	r := restart.NewRestarter(restart.Parts{
		Catalog: c,
		Gate:    controllertest.OpenGate(c),
		Table:   tracker.New(),
		Metrics: metrics.New(),
		DryRun:  true,
		Log:     slog.New(slog.DiscardHandler),
		KnowsConfigs: func(string) bool {
			c.ListConfigs(names.ConfigMap, "", []*content.Config{&known}, time.Unix(0, 0), true, func(names.ConfigRef) {})
			return true
		},
	}, nil)
	if err := r.Handle(t.Context(), w.Ref); err != nil {
		t.Fatal(err)
	}
	want := record.Checksums{known.Ref: known.Checksum([]template.Selection{{}}, content.ChecksumKey{})}
	if r.Table.NoteDryRun(w.Ref, want) {
		t.Error("what it would record is not what was listed")
	}
}
