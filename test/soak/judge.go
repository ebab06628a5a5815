package main

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubernetes-deployment-restart-controller/test/soak/model"
)

// judge feeds the model with what driver, observer and saboteur do and see.
type judge struct {
	mu    sync.Mutex
	model *model.Model
	uses  map[model.WorkloadRef][]model.Use
	apps  map[string]model.WorkloadRef // by namespace and the label app

	breaker *breaker
}

func newJudge(w *world, options model.Options) *judge {
	j := &judge{model: model.New(options), uses: map[model.WorkloadRef][]model.Use{}, apps: map[string]model.WorkloadRef{}}
	_, workloads := w.everything()
	for _, d := range workloads {
		j.apps[d.namespace+"/"+d.name] = d.ref()
		for i := range d.uses {
			j.uses[d.ref()] = append(j.uses[d.ref()], d.uses[i].model())
		}
	}
	return j
}

func (j *judge) configure(e model.Edit) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.model.Configure(e)
}

func (j *judge) revert(r model.Revert) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.model.Revert(r)
}

func (j *judge) agree(e model.TermsEdit) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.model.Agree(e)
}

func (j *judge) seeHalt(h model.Halt) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.model.SeeHalt(h)
}

func (j *judge) resume(r model.Resume) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.model.Resume(r)
}

func (j *judge) halts() (all, resumed int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.model.Halts()
}

func (j *judge) isOutdated(h model.Halt) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.model.IsOutdated(h)
}

func (j *judge) watched(from, to time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.model.Watched(from, to)
}

func (j *judge) away(from, to time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.model.Away(from, to)
}

// restartedAt returns when a workload was restarted last, zero if never or if that was reverted.
func (j *judge) restartedAt(ref model.WorkloadRef) time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.model.RestartedAt(ref)
}

func (j *judge) note(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.model.Note(time.Now(), "## "+what)
}

func (j *judge) gap(from, to uint64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.model.Gap(from, to)
}

func (j *judge) restarts() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.model.Restarts()
}

func (j *judge) restartsOf(ref model.WorkloadRef) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.model.RestartsOf(ref)
}

// see takes in an object that a watch or a list showed.
func (j *judge) see(object metav1.Object, listed bool) {
	if object.GetNamespace() == hostileNamespace {
		return
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		s := sightOf("Deployment", o, &o.Spec.Template, *o.Spec.Replicas > 0, listed)
		s.Paused, s.Rollout = o.Spec.Paused, rolloutOf(o)
		s.Whole = isWhole(o.Generation, o.Status.ObservedGeneration, *o.Spec.Replicas, o.Status.Replicas, o.Status.UpdatedReplicas, o.Status.AvailableReplicas)
		j.seeWorkload(s)
	case *appsv1.StatefulSet:
		s := sightOf("StatefulSet", o, &o.Spec.Template, *o.Spec.Replicas > 0, listed)
		s.Whole = isWhole(o.Generation, o.Status.ObservedGeneration, *o.Spec.Replicas, o.Status.Replicas, o.Status.UpdatedReplicas, o.Status.AvailableReplicas)
		j.seeWorkload(s)
	case *appsv1.DaemonSet:
		s := sightOf("DaemonSet", o, &o.Spec.Template, true, listed)
		s.Whole = isWhole(o.Generation, o.Status.ObservedGeneration, o.Status.DesiredNumberScheduled, o.Status.UpdatedNumberScheduled, o.Status.NumberAvailable)
		j.seeWorkload(s)
	case *unstructured.Unstructured:
		g := mustReadGadget(o)
		s := sightOf(gadgetKind, g, &g.Spec.Template, *g.Spec.Replicas > 0, listed)
		s.ByPods = true
		j.seeWorkload(s)
	case *appsv1.ReplicaSet:
		j.seeSet(o, listed, false)
	case *corev1.Pod:
		j.seePod(o, time.Time{})
		j.breaker.see(o)
	}
}

// forget takes in that an object is gone.
func (j *judge) forget(object metav1.Object) {
	if object.GetNamespace() == hostileNamespace {
		return
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		j.gone("Deployment", o)
	case *appsv1.StatefulSet:
		j.gone("StatefulSet", o)
	case *appsv1.DaemonSet:
		j.gone("DaemonSet", o)
	case *unstructured.Unstructured:
		j.gone(gadgetKind, o)
	case *appsv1.ReplicaSet:
		j.seeSet(o, false, true)
	case *corev1.Pod:
		j.seePod(o, time.Now())
	}
}

func (j *judge) gone(kind string, object metav1.Object) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.model.Gone(refOf(kind, object), time.Now())
}

func (j *judge) seeWorkload(s model.Sight) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if s.Uses = j.uses[s.Workload]; s.Uses != nil { // otherwise it does not belong to the soak
		j.model.See(s)
	}
}

func (j *judge) seeSet(rs *appsv1.ReplicaSet, listed, gone bool) {
	owner := metav1.GetControllerOf(rs)
	if owner == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.model.SeeSet(model.SetSight{
		At: time.Now(), Version: versionOf(rs), Listed: listed, Deployment: string(owner.UID), Name: rs.Name,
		Replicas: int(*rs.Spec.Replicas), Available: int(rs.Status.AvailableReplicas), Gone: gone,
	})
}

func (j *judge) seePod(pod *corev1.Pod, gone time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if ref, found := j.apps[pod.Namespace+"/"+pod.Labels["app"]]; found {
		seen := podOf(pod, ref)
		seen.Gone = gone
		j.model.SeePod(seen)
	}
}

func podOf(pod *corev1.Pod, ref model.WorkloadRef) model.Pod {
	p := model.Pod{Name: pod.Name, Workload: ref, Created: pod.CreationTimestamp.Time, Started: startOf(pod)}
	p.RestartedAt, _ = time.Parse(time.RFC3339Nano, pod.Annotations[timestampAnnotation]) // as in sightOf
	return p
}

func refOf(kind string, object metav1.Object) model.WorkloadRef {
	return model.WorkloadRef{Kind: kind, Name: object.GetNamespace() + "/" + object.GetName()}
}

func versionOf(object metav1.Object) uint64 {
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(err) // the API server of the local cluster has numbers
	}
	return version
}

func sightOf(kind string, object metav1.Object, template *corev1.PodTemplateSpec, wantsPods, listed bool) model.Sight {
	annotations := object.GetAnnotations()
	s := model.Sight{
		At: time.Now(), Version: versionOf(object), Listed: listed, Workload: refOf(kind, object), UID: string(object.GetUID()),
		Created: object.GetCreationTimestamp().Time, Enabled: isEnabled(object), WantsPods: wantsPods,
		Template: fingerprint(template), Terms: termsOf(annotations, time.Now()),
	}
	s.Wave, _ = strconv.Atoi(annotations[waveAnnotation]) // 0 if there is none
	// What cannot be read says nothing, which the model notices where it counts.
	s.RestartedAt, _ = time.Parse(time.RFC3339Nano, template.Annotations[timestampAnnotation])
	_ = json.Unmarshal([]byte(annotations[checksumsAnnotation]), &s.Record)
	if _, s.ByPods = annotations[methodAnnotation]; s.ByPods {
		s.RestartedAt, s.InSeconds = evictedAt(object), true
	}
	return s
}

// evictedAt returns when the last restart by eviction began, as late as that can have been; zero if nothing says that
// there was one. The record names the second in which it began, or was written then.
func evictedAt(object metav1.Object) time.Time {
	var basis struct{ Evict string }
	_ = json.Unmarshal([]byte(object.GetAnnotations()[basisAnnotation]), &basis) // as in sightOf
	at, err := time.Parse(time.RFC3339, basis.Evict)
	if basis.Evict == "now" {
		at, err = writtenAt(object, basisAnnotation)
	}
	if err != nil {
		return time.Time{}
	}
	return at.UTC().Add(time.Second)
}

// writtenAt returns when an annotation was written, as the API server dates it.
func writtenAt(object metav1.Object, annotation string) (time.Time, error) {
	for _, entry := range object.GetManagedFields() {
		if entry.Time != nil && entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"f:`+annotation+`"`) {
			return entry.Time.Time, nil
		}
	}
	return time.Time{}, fmt.Errorf("nothing says when %s of %s/%s was written", annotation, object.GetNamespace(), object.GetName())
}

// isWhole reports whether a status says that there are as many pods as wanted, by all counts.
func isWhole(generation, observed int64, want int32, counts ...int32) bool {
	return observed >= generation && !slices.ContainsFunc(counts, func(count int32) bool { return count != want })
}

// fingerprint differs where templates do, what a restart sets left out.
func fingerprint(template *corev1.PodTemplateSpec) string {
	plain := *template
	plain.Annotations = maps.Clone(template.Annotations)
	delete(plain.Annotations, timestampAnnotation)
	delete(plain.Annotations, causeAnnotation)
	if len(plain.Annotations) == 0 {
		plain.Annotations = nil
	}
	text, err := json.Marshal(&plain)
	if err != nil {
		panic(err) // a pod template has nothing that could fail
	}
	hash := fnv.New64a()
	_, _ = hash.Write(text) // never fails
	return strconv.FormatUint(hash.Sum64(), 36)
}

func rolloutOf(d *appsv1.Deployment) model.Rollout {
	r := model.Rollout{
		Generation: d.Generation, Observed: d.Status.ObservedGeneration, Replicas: int(*d.Spec.Replicas),
		Recreate: d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType,
	}
	if rolling := d.Spec.Strategy.RollingUpdate; rolling != nil {
		r.Surge, r.Unavailable = rolling.MaxSurge.IntValue(), rolling.MaxUnavailable.IntValue()
	}
	return r
}

func (j *judge) rest(pods []model.Pod) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.model.Rest(pods)
}

// verdict returns what went wrong.
func (j *judge) verdict() ([]model.Violation, model.Tally) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.model.Verdict(), j.model.Tally()
}

// answers returns how long the restarts took to come.
func (j *judge) answers() []model.Answer {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.model.Answers()
}

// story describes what happened to a workload.
func (j *judge) story(ref model.WorkloadRef) string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.model.Story(ref)
}
