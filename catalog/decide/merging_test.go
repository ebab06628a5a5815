package decide

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// drawTemplate draws a pod template that reads a few configs in all ways, again and again.
func drawTemplate(t *rapid.T) corev1.PodSpec {
	var spec corev1.PodSpec
	for _, name := range []string{"v", "w"} {
		spec.Volumes = append(spec.Volumes, drawVolume(t, name))
	}
	for _, name := range []string{"init", "app", "side"}[rapid.IntRange(0, 1).Draw(t, "init"):] {
		container := objecttest.DrawContainer(t, name)
		if name == "init" {
			spec.InitContainers = append(spec.InitContainers, container)
		} else {
			spec.Containers = append(spec.Containers, container)
		}
	}
	return spec
}

func drawVolume(t *rapid.T, name string) corev1.Volume {
	items := func() []corev1.KeyToPath {
		var items []corev1.KeyToPath
		for range rapid.IntRange(0, 2).Draw(t, "items") {
			items = append(items, corev1.KeyToPath{Key: objecttest.DrawKey(t), Path: rapid.SampledFrom([]string{"a", "b", "d/a", "d/b", "a/b", "d-"}).Draw(t, "path")})
		}
		return items
	}
	configMap := func() *corev1.ConfigMapProjection {
		return &corev1.ConfigMapProjection{LocalObjectReference: objecttest.DrawReference(t), Items: items(), Optional: objecttest.DrawOptional(t)}
	}
	volume := corev1.Volume{Name: name}
	switch rapid.IntRange(0, 3).Draw(t, "kind of volume") {
	case 0:
		source := configMap()
		volume.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: source.LocalObjectReference, Items: source.Items, Optional: source.Optional}
	case 1:
		volume.Secret = &corev1.SecretVolumeSource{SecretName: objecttest.DrawReference(t).Name, Items: items(), Optional: objecttest.DrawOptional(t)}
	case 2:
		token := corev1.ServiceAccountTokenProjection{Path: objecttest.DrawKey(t)}
		volume.Projected = &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ConfigMap: configMap()}, {ConfigMap: configMap()}, {ServiceAccountToken: &token}}}
	}
	return volume
}

// history of three configs and a workload that reads some of them, one thing a second.
type drawnWorld struct {
	*story
	t   *rapid.T
	now float64
}

func drawWorld(t *rapid.T) *drawnWorld {
	d := objecttest.Deployment(corev1.Container{Name: "app"})
	d.Spec.Template.Spec = drawTemplate(t)
	w := &drawnWorld{begin(d), t, 0}
	w.catalog.SetKey(catalogtest.TestKey)
	if rapid.IntRange(0, 3).Draw(t, "record of the original") == 0 {
		all := []metav1.Object{objecttest.ConfigMap("web", w.content()), objecttest.Secret("web", w.content()), objecttest.ConfigMap("other", w.content())}
		recordByOriginal(d, 0, all[rapid.IntRange(0, 2).Draw(t, "not recorded"):]...)
	}
	w.now = 5
	listConfigs(w.catalog, names.ConfigMap, "", objecttest.ListOf(w.configMap("web"), w.configMap("other")), objecttest.NoonPlus(w.now), true)
	listConfigs(w.catalog, names.Secret, "", objecttest.ListOf(w.secret()), objecttest.NoonPlus(w.now), true)
	listWorkloads(w.catalog, names.Deployment, "", objecttest.ListOf(w.reduced()), 0)
	for range rapid.IntRange(0, 8).Draw(t, "events") {
		w.now++
		w.step()
	}
	return w
}

func (w *drawnWorld) content() objecttest.Data {
	content := objecttest.Data{}
	for _, key := range []string{"a", "b", "c"} {
		if version := rapid.IntRange(0, 2).Draw(w.t, "version of "+key); version > 0 {
			content[key] = fmt.Sprint(version)
		}
	}
	return content
}

func (w *drawnWorld) fields() []metav1.ManagedFieldsEntry {
	at := objecttest.NoonPlus(float64(rapid.IntRange(0, int(w.now)).Draw(w.t, "written")))
	return []metav1.ManagedFieldsEntry{objecttest.Owns("kubectl", at, "f:data/f:"+objecttest.DrawKey(w.t)), objecttest.Owns("helm", at.Add(-time.Second), "f:binaryData/f:"+objecttest.DrawKey(w.t))}
}

func (w *drawnWorld) configMap(name string) content.Config {
	cm := objecttest.ConfigMap(name, w.content())
	for key, value := range cm.Data {
		if rapid.IntRange(0, 2).Draw(w.t, "binary") == 0 {
			delete(cm.Data, key)
			cm.BinaryData = map[string][]byte{key: []byte(value)}
			break
		}
	}
	cm.ManagedFields = w.fields()
	return content.NewConfigMap(cm)
}

func (w *drawnWorld) secret() content.Config {
	s := objecttest.Secret("web", w.content())
	s.ManagedFields = w.fields()
	return content.NewSecret(s)
}

func (w *drawnWorld) step() {
	draw := func() content.Config {
		if rapid.Bool().Draw(w.t, "secret") {
			return w.secret()
		}
		return w.configMap(rapid.SampledFrom([]string{"web", "other"}).Draw(w.t, "name"))
	}
	view, _ := w.catalog.View(objecttest.DeploymentRef("web"))
	switch rapid.IntRange(0, 5).Draw(w.t, "event") {
	case 0, 1:
		w.catalog.ObserveConfig(draw(), objecttest.NoonPlus(w.now))
	case 2:
		config := draw()
		w.catalog.ForgetConfig(config.Ref, objecttest.NoonPlus(w.now-0.5))
		config.Created = uint32(objecttest.NoonPlus(w.now).Unix())
		w.catalog.ObserveConfig(config, objecttest.NoonPlus(w.now))
	case 3:
		w.release(fmt.Sprint(w.now))
	case 4:
		if len(UnsettledByOriginal(&view)) == 0 {
			catalogtest.WriteRecord(w.deployment, Decide(view).Checksums, objecttest.NoonPlus(w.now))
			w.catalog.ObserveWritten(w.reduced(), view.Sequence)
		}
	case 5:
		w.scale(int32(rapid.IntRange(0, 1).Draw(w.t, "replicas")))
	}
}

func (w *drawnWorld) release(image string) {
	w.deployment.Spec.Template.Labels = objecttest.Data{"image": image}
	w.catalog.ObserveWorkload(w.reduced())
}

func (w *drawnWorld) drawPods() []Pod {
	at := func() time.Time {
		second := rapid.IntRange(-1, int(w.now)+2).Draw(w.t, "second")
		if second < 0 {
			return time.Time{}
		}
		return objecttest.NoonPlus(float64(second))
	}
	var pods []Pod
	for range rapid.IntRange(0, 3).Draw(w.t, "pods") {
		pod := Pod{Mounted: at()}
		for _, container := range []string{"init", "app", "side"} {
			if started := at(); !started.IsZero() {
				pod.Started = append(pod.Started, Start{container, started})
			}
		}
		pods = append(pods, pod)
	}
	return pods
}

// view is what the catalog knows, and what the original's record was compared with.
func (w *drawnWorld) view() catalog.View {
	view, _ := w.catalog.View(objecttest.DeploymentRef("web"))
	view.Originals = map[names.ConfigRef]names.Checksum{}
	for ref, recorded := range view.Workload.Record.Original {
		view.Originals[ref] = recorded + names.Checksum(rapid.IntRange(0, 1).Draw(w.t, "digest"))
	}
	return view
}

// What is kept of the references to a config is merged. The record must not notice: it
// would restart every workload at the upgrade.
func TestMergedReferencesHaveTheChecksumsOfThoseInTheTemplate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		view := w.view()
		o := newOracle(view, &w.deployment.Spec.Template.Spec)
		want := record.Checksums{}
		for _, m := range o.mentions {
			if config := view.Present(m.Config); config != nil {
				want[m.Config] = o.checksum(config, view.Key)
			} else if recorded, found := view.Workload.Record.Checksums[m.Config]; found && view.Workload.Record.Trusted {
				want[m.Config] = recorded
			}
		}
		if diff := cmp.Diff(want, Decide(view).Checksums); diff != "" {
			t.Fatalf("checksums (-want +got):\n%s", diff)
		}
	})
}

func TestMergedReferencesAreJudgedLikeThoseInTheTemplate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		view, pods := w.view(), w.drawPods()
		o := newOracle(view, &w.deployment.Spec.Template.Spec)
		r := &view.Workload.Record
		isRecorded := func(ref names.ConfigRef) bool {
			_, found := r.Checksums[ref]
			return r.Trusted && found
		}
		all := func(names.ConfigRef) bool { return true }
		matters := func(ref names.ConfigRef) bool { return !isRecorded(ref) }
		_, suspicious, _ := o.judge(pods, all)
		if found := candidates(&view, seenConfigs(&view), func(standing) bool { return true }); (len(found) > 0) != suspicious {
			t.Fatalf("candidates %+v, want some: %t", found, suspicious)
		}
		if hasRested(view.Workload) {
			matters = func(ref names.ConfigRef) bool {
				config := view.Present(ref)
				return !isRecorded(ref) || config == nil || r.Checksums[ref] != o.checksum(config, view.Key)
			}
		}
		_, suspicious, _ = o.judge(pods, matters)
		if found := candidates(&view, seenConfigs(&view), unknownToRecord(view.Workload)); (len(found) > 0) != suspicious {
			t.Fatalf("candidates that the record does not know %+v, want some: %t", found, suspicious)
		}
		causes, _, differs := o.judge(pods, matters)
		causes = o.addReturned(causes, pods)
		got := ByPods(view, pods)
		if (got.Outcome == Restart) != (len(causes) > 0 || differs) {
			t.Fatalf("%s, %s; the causes are %+v", got.Outcome, got.Reason, causes)
		}
		if diff := cmp.Diff(causes, got.Causes, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("causes (-want +got):\n%s", diff)
		}
	})
}

// However often a template says the same, it is kept once.
func TestEqualReferencesAreKeptOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawTemplate(t)
		references, _ := template.ReferencesOf("ns", &spec, template.Filter{})
		seen := map[string]bool{}
		for _, r := range references {
			way := fmt.Sprint(r.Config, r.Channel, r.Container, r.Optional)
			if seen[way] {
				t.Fatalf("kept twice: %s", way)
			}
			seen[way] = true
			if !slices.IsSorted(r.Keys.Names) || r.Channel == template.Volume && r.Container != "" || r.Keys.DataOnly != (r.Channel == template.Environment) {
				t.Fatalf("reference %+v", r)
			}
		}
		want := map[names.ConfigRef]bool{}
		for _, m := range newOracle(catalog.View{}, &spec).mentions {
			want[m.Config] = true
		}
		w := workload.Workload{Object: workload.Object{References: references}}
		if diff := cmp.Diff(slices.SortedFunc(maps.Keys(want), names.CompareConfigRefs), w.Configs(), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("configs (-want +got):\n%s", diff)
		}
		doubled := spec
		doubled.InitContainers, doubled.Containers = twice(spec.InitContainers), twice(spec.Containers)
		if again, _ := template.ReferencesOf("ns", &doubled, template.Filter{}); !cmp.Equal(references, again) {
			t.Fatalf("a template that says everything twice (-once +twice):\n%s", cmp.Diff(references, again))
		}
	})
}

func twice(containers []corev1.Container) []corev1.Container {
	return append(slices.Clone(containers), containers...)
}

// A container that can start without a config, beside one that cannot.
func TestAnOptionalReaderIsJudgedApartFromOneThatIsNot(t *testing.T) {
	waiting, optional := objecttest.ReadsAll("web", false), objecttest.ReadsAll("web", true)
	optional.Name = "optional"
	d := objecttest.Deployment(waiting)
	d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, optional)
	s := begin(d)
	s.listed()
	s.created("web", objecttest.Data{"a": "1"}, 60)
	pod := Pod{Mounted: objecttest.NoonPlus(5), Started: []Start{{"app", objecttest.NoonPlus(62)}, {"optional", objecttest.NoonPlus(6)}}}
	if diff := cmp.Diff(askedRestartFor("web"), s.decide(t, pod), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
}
