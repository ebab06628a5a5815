package impact_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/impact"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) // a Friday

const prefix = "com.xing.deployment-restart"

// deployment returns an enabled Deployment with three pods, which reads all of the ConfigMap settings.
func deployment(name string, adjust ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: map[string]string{prefix: "enabled"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}},
		},
	}
	reads(fromSettings())(d)
	for _, f := range adjust {
		f(d)
	}
	return d
}

func fromSettings() corev1.EnvFromSource {
	return corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}
}

func reads(sources ...corev1.EnvFromSource) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].EnvFrom = sources }
}

// readsKey makes the Deployment read one key of a Secret, or of the settings if the Secret has no name.
func readsKey(secret, key string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		from := &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: key}}
		if secret != "" {
			from = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: key}}
		}
		c := &d.Spec.Template.Spec.Containers[0]
		c.EnvFrom, c.Env = nil, []corev1.EnvVar{{Name: "V", ValueFrom: from}}
	}
}

func annotated(name, value string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Annotations[prefix+name] = value }
}

func replicas(count int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = &count }
}

// recorded lets the Deployment have the controller's record of the settings.
func recorded(data map[string]string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		config := content.NewConfigMap(settings(data))
		parts := workload.PartsOfDeployment(d)
		w, err := workload.NewWorkload(names.Deployment, &parts)
		if err != nil {
			panic(err)
		}
		checksums := record.Checksums{config.Ref: config.Checksum([]template.Selection{{DataOnly: true}}, content.ChecksumKey{})}
		annotations, err := checksums.Annotations(record.Basis{Template: w.Template, Written: now.Add(-time.Hour)})
		if err != nil {
			panic(err)
		}
		for name, value := range annotations {
			d.Annotations[name] = value
		}
		fields := fmt.Sprintf(`{"f:metadata":{"f:annotations":{"f:%s":{}}}}`, annotation.BasisAnnotation)
		at := metav1.NewTime(now.Add(-time.Hour))
		d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: annotation.FieldManager, Operation: metav1.ManagedFieldsOperationUpdate, Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}}
	}
}

// recordedByTheOriginal lets the Deployment have a record of the settings without a basis.
func recordedByTheOriginal(d *appsv1.Deployment) {
	recorded(before)(d)
	delete(d.Annotations, annotation.BasisAnnotation)
	d.ManagedFields[0].FieldsV1 = metav1.NewFieldsV1(fmt.Sprintf(`{"f:metadata":{"f:annotations":{"f:%s":{}}}}`, annotation.ChecksumsAnnotation))
}

func settings(data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "settings", CreationTimestamp: metav1.NewTime(now.Add(-24 * time.Hour))}, Data: data}
}

func workloads(t *testing.T, all ...*appsv1.Deployment) []facts.Workload {
	t.Helper()
	var reduced []facts.Workload
	for _, d := range all {
		parts := workload.PartsOfDeployment(d)
		w, err := workload.NewWorkload(names.Deployment, &parts)
		if err != nil {
			t.Fatal(err)
		}
		reduced = append(reduced, facts.Workload{Workload: w, Choice: annotation.ChoiceOf(&d.ObjectMeta)})
	}
	facts.Follow(reduced, nil, nil)
	return reduced
}

var before, after = map[string]string{"LEVEL": "info", "COLOR": "red"}, map[string]string{"LEVEL": "debug", "COLOR": "red"}

func edited() impact.Change {
	return impact.ConfigMapApplied(&facts.OptInRules{}, settings(before), settings(after))
}

func compute(t *testing.T, change impact.Change, all ...*appsv1.Deployment) impact.Result {
	t.Helper()
	return impact.Compute(&impact.Input{Changes: []impact.Change{change}, Workloads: workloads(t, all...), Now: now})
}

func TestWhatBecomesOfAWorkload(t *testing.T) {
	for name, test := range map[string]struct {
		d       *appsv1.Deployment
		outcome impact.Outcome
		reason  string
	}{
		"it was never recorded":         {deployment("web"), impact.Restarts, "a container started before the content changed"},
		"the record has the content":    {deployment("web", recorded(before)), impact.Restarts, "the content differs from the record"},
		"it reads the key":              {deployment("web", readsKey("", "LEVEL")), impact.Restarts, "a container started before the content changed"},
		"the change is a revert":        {deployment("web", recorded(after)), impact.Maybe, "the content returns to"},
		"it is not enabled":             {deployment("web", annotated("", "no")), impact.Stays, "not enabled"},
		"it wants no pods":              {deployment("web", replicas(0)), impact.Stays, "it wants no pods"},
		"it wants no pods any more":     {deployment("web", recorded(before), replicas(0)), impact.Stays, "it wants no pods"},
		"the original recorded it":      {deployment("web", recordedByTheOriginal), impact.Restarts, "a record of the original controller"},
		"the same, without pods":        {deployment("web", recordedByTheOriginal, replicas(0)), impact.Stays, "it wants no pods"},
		"the same, in a closed window":  {deployment("web", recordedByTheOriginal, replicas(0), annotated(".window", "0 22 * * 1-5 6h")), impact.Stays, "it wants no pods"},
		"it is held":                    {deployment("web", annotated(".hold", "migration")), impact.Held, "the workload is held: migration"},
		"its window is closed":          {deployment("web", annotated(".window", "0 22 * * 1-5 6h")), impact.Waits, "its window opens at 2026-11-20T22:00:00Z"},
		"its window is open":            {deployment("web", annotated(".window", "0 11 * * 1-5 6h")), impact.Restarts, ""},
		"its window cannot be read":     {deployment("web", annotated(".window", "tonight")), impact.Waits, `its window cannot be read: window "tonight": expected six words (five fields and a duration), found 1; an example is "CRON_TZ=Europe/Berlin 0 22 * * 1-5 6h"`},
		"it is paused":                  {deployment("web", func(d *appsv1.Deployment) { d.Spec.Paused = true }), impact.ByHand, "it is paused"},
		"it is paused and held":         {deployment("web", func(d *appsv1.Deployment) { d.Spec.Paused = true }, annotated(".hold", "")), impact.Held, "no reason given"},
		"a paused one has no window":    {deployment("web", func(d *appsv1.Deployment) { d.Spec.Paused = true }, annotated(".window", "0 22 * * 1-5 6h")), impact.ByHand, "it is paused"},
		"it opted in with other values": {deployment("web", annotated("", "Enabled")), impact.Stays, "not enabled"},
	} {
		result := compute(t, edited(), test.d)
		if len(result.Rows) != 1 || result.Rows[0].Outcome != test.outcome || !strings.Contains(result.Rows[0].Reason, test.reason) {
			t.Errorf("%s: %+v, want %s because %q", name, result.Rows, test.outcome, test.reason)
		}
	}
}

func TestPodsBelowAPartitionAreSaidToKeepRunning(t *testing.T) {
	all := workloads(t, deployment("web"))
	all[0].Hold = workload.PartlyPartitioned
	row := impact.Compute(&impact.Input{Changes: []impact.Change{edited()}, Workloads: all, Now: now}).Rows[0]
	if row.Outcome != impact.Restarts || !strings.HasSuffix(row.Reason, "; it has a partition: pods with an ordinal below it keep running until it is lowered") {
		t.Errorf("%+v", row)
	}
}

func TestAWorkloadThatSeesNoChangedKeyIsNotListed(t *testing.T) {
	others := []*appsv1.Deployment{
		deployment("other-key", readsKey("", "COLOR")),
		deployment("secret-of-that-name", readsKey("settings", "LEVEL")),
		deployment("nothing", reads()),
	}
	elsewhere := deployment("elsewhere")
	elsewhere.Namespace = "office"
	if result := compute(t, edited(), append(others, elsewhere)...); len(result.Rows) > 0 || result.Summary() != "Nothing would restart." {
		t.Errorf("%+v, %s", result.Rows, result.Summary())
	}
	same := impact.ConfigMapApplied(&facts.OptInRules{}, settings(before), settings(before))
	if result := compute(t, same, deployment("web")); len(result.Rows) > 0 || !same.IsEmpty() {
		t.Errorf("the same content restarts %+v", result.Rows)
	}
}

func TestANewConfigRestartsOnlyThoseThatStartedWithoutIt(t *testing.T) {
	optional := fromSettings()
	optional.ConfigMapRef.Optional = new(true)
	created := impact.ConfigMapApplied(&facts.OptInRules{}, nil, settings(after))
	result := compute(t, created, deployment("optional", reads(optional)), deployment("required"))
	want := []impact.Outcome{impact.Restarts, impact.Stays}
	for i, row := range result.Rows {
		if row.Outcome != want[i] {
			t.Errorf("%+v, want %s", row, want[i])
		}
	}
	if len(result.Rows) != len(want) {
		t.Errorf("%+v", result.Rows)
	}
}

func TestAHoldOfTheConfigOrOfEverythingHolds(t *testing.T) {
	file := settings(after)
	file.Annotations = map[string]string{prefix + ".hold": "approval"}
	in := &impact.Input{Changes: []impact.Change{impact.ConfigMapApplied(&facts.OptInRules{}, settings(before), file)}, Workloads: workloads(t, deployment("web")), Now: now}
	if result := impact.Compute(in); result.Rows[0].Reason != "the configmap/settings is held: approval" {
		t.Errorf("%+v", result.Rows)
	}
	in.Hold = "incident 42"
	if result := impact.Compute(in); result.Rows[0].Outcome != impact.Held || result.Rows[0].Reason != "all restarts are held: incident 42" {
		t.Errorf("%+v", result.Rows)
	}
}

func TestSecretsAreComparedWithoutNamingTheirKeys(t *testing.T) {
	secret := func(data map[string][]byte, strings map[string]string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}, Data: data, StringData: strings}
	}
	present := secret(map[string][]byte{"user": []byte("shop"), "password": []byte("a")}, nil)
	same := impact.SecretApplied(&facts.OptInRules{}, present, secret(map[string][]byte{"user": []byte("shop"), "password": []byte("x")}, map[string]string{"password": "a"}))
	if !same.IsEmpty() {
		t.Error("stringData does not win")
	}
	change := impact.SecretApplied(&facts.OptInRules{}, present, secret(nil, map[string]string{"user": "shop", "password": "b"}))
	result := compute(t, change, deployment("reads-password", readsKey("db", "password")), deployment("reads-user", readsKey("db", "user")))
	var out bytes.Buffer
	if err := result.Print(&out, printers.PrintOptions{Wide: true, WithNamespace: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), "NAMESPACE   WORKLOAD ") || !strings.Contains(out.String(), "\nshop        deployment/reads-password ") {
		t.Errorf("not one column of namespaces:\n%s", &out)
	}
	if len(result.Rows) != 1 || result.Rows[0].Name != "reads-password" || result.Rows[0].Outcome != impact.Restarts || strings.Contains(strings.ReplaceAll(out.String(), "reads-password", ""), "password") {
		t.Errorf("%s", out.String())
	}
}

func TestAnUnreadableSecretCountsAsChanged(t *testing.T) {
	all := []*appsv1.Deployment{deployment("password", readsKey("db", "password")), deployment("user", readsKey("db", "user")),
		deployment("whole", reads(corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}}}))}
	ref := names.ConfigRef{Kind: names.Secret, Namespace: "shop", Name: "db"}
	for want, keys := range map[string][]string{"password user whole": nil, "user whole": {"user"}} {
		result := compute(t, impact.UnreadableChanged(ref, workloads(t, all...), keys), all...)
		var names []string
		for _, row := range result.Rows {
			names = append(names, row.Name)
			if row.Outcome != impact.Restarts || len(row.Changes[0].Keys) > 0 || row.Changes[0].Count != len(keys) {
				t.Errorf("%+v", row)
			}
		}
		if strings.Join(names, " ") != want {
			t.Errorf("%v restart, want %s", names, want)
		}
	}
}

func TestKeysThatAreNamedChange(t *testing.T) {
	config := content.NewConfigMap(settings(before))
	for want, keys := range map[string][]string{"color level": nil, "color": {"COLOR"}, "new": {"NEW"}} {
		result := compute(t, impact.KeysChanged(config, keys), deployment("color", readsKey("", "COLOR")), deployment("level", readsKey("", "LEVEL")), deployment("new", readsKey("", "NEW")))
		var names []string
		for _, row := range result.Rows {
			names = append(names, row.Name)
		}
		if strings.Join(names, " ") != want {
			t.Errorf("%v restart for %v, want %s", names, keys, want)
		}
	}
}

func TestTheReportIsATableTheOrderAndASummary(t *testing.T) {
	result := compute(t, edited(),
		deployment("web"), deployment("worker", annotated(".wave", "1")), deployment("api"),
		deployment("canary", annotated(".wave", "-1"), replicas(1)),
		deployment("held", annotated(".hold", "\x1b[2Jmigration\nunder way")),
		deployment("off", annotated("", "off"), readsKey("", "LEVEL")),
	)
	var out bytes.Buffer
	if err := result.Print(&out, printers.PrintOptions{}); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
WORKLOAD            PODS   WAVE   RESTARTS   KEYS                        WHY
deployment/canary   1      -1     yes        configmap/settings: LEVEL   
deployment/api      3      0      yes        configmap/settings: LEVEL   
deployment/held     3      0      held       configmap/settings: LEVEL   the workload is held: \u001b[2Jmigration\u000aunder way
deployment/off      3      0      no         configmap/settings: LEVEL   not enabled: its annotation com.xing.deployment-restart is not "enabled"
deployment/web      3      0      yes        configmap/settings: LEVEL   
deployment/worker   3      1      yes        configmap/settings: LEVEL   

Order in shop: wave -1 (1 workload), then wave 0 (3 workloads), then wave 1 (1 workload); in each wave one workload first, then 1, 2, 4, … as restarts are delivered, if the controller runs with --fan-out=gradual, as in its manifests; otherwise all at once.
5 workloads, 13 pods would restart. 1 of them held.
`, "\n")
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTheOrderFollowsTheFanOutOfTheConfig(t *testing.T) {
	for way, want := range map[string]string{
		"gradual":     "Order in shop: one workload first, then 1, 2, 4, … as restarts are delivered.",
		"all-at-once": "Order in shop: all at once, as far as the limit of restarts allows.",
	} {
		file := settings(after)
		file.Annotations = map[string]string{prefix + ".fan-out": way}
		result := compute(t, impact.ConfigMapApplied(&facts.OptInRules{}, settings(before), file), deployment("web"), deployment("api"))
		if diff := cmp.Diff([]string{want}, result.Order); diff != "" {
			t.Error(diff)
		}
	}
}

// BenchmarkCompute computes the impact of a config that 10,000 workloads read.
func BenchmarkCompute(b *testing.B) {
	var all []facts.Workload
	for i := range 10_000 {
		parts := workload.PartsOfDeployment(deployment(fmt.Sprintf("app-%05d", i), recorded(before)))
		w, err := workload.NewWorkload(names.Deployment, &parts)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, facts.Workload{Workload: w, Enabled: true})
	}
	b.ReportAllocs()
	for b.Loop() {
		result := impact.Compute(&impact.Input{Changes: []impact.Change{edited()}, Workloads: all, Now: now})
		if count, _ := result.Count(); count != len(all) {
			b.Fatal(count)
		}
	}
}
