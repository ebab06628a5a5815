//go:build !race

package controller

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/names"
)

// The pods of readers that are played one by one, as the kubelets and the controllers of Deployments, StatefulSets and
// DaemonSets do.

type playedPod struct {
	name, template string
	uid            types.UID
	created, since time.Time // since when it is in its state
	state          podState
	with           string // the content that its container has read
}

type podState uint8

const (
	unstarted podState = iota
	crashing           // or hanging
	running
)

// startEach starts pods and replaces them, until there is nothing to do.
func (r *readers) startEach(name string) {
	d, p := r.deployments[name], r.pods[name]
	if templateOf(d) != p.runs && !r.isBad() && r.configMaps["a/c"] != nil {
		p.ready = max(p.ready, *d.Spec.Replicas)
	}
	wanted := int(max(0, min(*d.Spec.Replicas, p.ready)))
	for r.readConfig(name); r.step(d, p, wanted); {
		r.readConfig(name)
	}
	p.since, p.crashes, p.runs = time.Time{}, "", ""
	for _, pod := range p.each {
		switch pod.state {
		case crashing:
			p.crashes, p.with = pod.template, pod.with
		case running:
			if p.runs = pod.template; p.since.IsZero() || pod.since.Before(p.since) {
				p.since = pod.since
			}
		}
	}
}

// readConfig starts the containers that wait for the config, or read it again.
func (r *readers) readConfig(name string) {
	config := r.configMaps["a/c"]
	if config == nil {
		return
	}
	content := config.Data["k"]
	for _, pod := range r.pods[name].each {
		isAgain := pod.state == crashing
		switch {
		case pod.state == running || pod.with == content:
		case isAgain && r.hangs && r.kind != names.StatefulSet: // only those that nobody replaces have a probe that restarts them
		case r.isBad():
			pod.state, pod.with, pod.since, r.crashed = crashing, content, time.Now(), true
			if !r.spared[name] && !isAgain { // otherwise nobody has brought it that content
				r.breaks(name)
			}
		default:
			pod.state, pod.with, pod.since = running, content, time.Now()
		}
	}
}

// step makes the next step of the workload's own controller, and reports whether there was one.
func (r *readers) step(d *appsv1.Deployment, p *podsOf, wanted int) bool {
	switch {
	case wanted == 0:
		p.each = nil
		return false
	case r.configMaps["a/c"] == nil && len(p.each) >= wanted:
		return false // new pods would not start
	case r.kind == "":
		return p.stepOfDeployment(d, wanted)
	}
	return p.stepInPlace(d, r.kind, wanted)
}

// stepOfDeployment surges by one pod.
func (p *podsOf) stepOfDeployment(d *appsv1.Deployment, wanted int) bool {
	isOld := func(o *playedPod) bool { return o.template != templateOf(d) }
	isOldAndDown := func(o *playedPod) bool { return isOld(o) && isDown(o) }
	isNewAndDown := func(o *playedPod) bool { return !isOld(o) && isDown(o) }
	hasOld := slices.ContainsFunc(p.each, isOld)
	switch {
	case len(p.each) < wanted, hasOld && len(p.each) == wanted:
		p.add(d, "")
		return true
	case len(p.each) == wanted:
		return false
	case !hasOld:
		return p.remove(isDown) || p.remove(func(*playedPod) bool { return true })
	}
	return p.remove(isOldAndDown) || !slices.ContainsFunc(p.each, isNewAndDown) && p.remove(isOld)
}

// stepInPlace replaces one pod at a time, and the last one first: of a DaemonSet, those that are down at once, and of a
// StatefulSet, never.
func (p *podsOf) stepInPlace(d *appsv1.Deployment, kind names.WorkloadKind, wanted int) bool {
	isOld := func(o *playedPod) bool { return o.template != templateOf(d) }
	isDownFirst := func(o *playedPod) bool { return kind == names.DaemonSet && isOld(o) && isDown(o) }
	someDown := slices.ContainsFunc(p.each, isDown)
	switch {
	case len(p.each) > wanted:
		p.each = p.each[:len(p.each)-1]
		return true
	case kind == names.StatefulSet && someDown:
		return false
	case len(p.each) == wanted && !p.remove(isDownFirst) && (someDown || !p.removeLast(isOld)):
		return false
	}
	p.add(d, kind)
	return true
}

func isDown(pod *playedPod) bool { return pod.state != running }

// add creates a pod, of a StatefulSet with the first number that is free.
func (p *podsOf) add(d *appsv1.Deployment, kind names.WorkloadKind) {
	p.made++
	pod := &playedPod{template: templateOf(d), created: time.Now(), since: time.Now(), uid: types.UID(fmt.Sprintf("%s-%d", d.UID, p.made)), name: fmt.Sprintf("%s-x%d", d.Name, p.made)}
	at := len(p.each)
	if kind == names.StatefulSet {
		name := func(i int) string { return fmt.Sprintf("%s-%d", d.Name, i) }
		for at = 0; at < len(p.each) && p.each[at].name == name(at); {
			at++
		}
		pod.name = name(at)
	}
	p.each = slices.Insert(p.each, at, pod)
}

// remove removes the first pod that is so, and reports whether there was one.
func (p *podsOf) remove(isSo func(*playedPod) bool) bool {
	i := slices.IndexFunc(p.each, isSo)
	if i >= 0 {
		p.each = slices.Delete(p.each, i, i+1)
	}
	return i >= 0
}

func (p *podsOf) removeLast(isSo func(*playedPod) bool) bool {
	for i, pod := range slices.Backward(p.each) {
		if isSo(pod) {
			p.each = slices.Delete(p.each, i, i+1)
			return true
		}
	}
	return false
}

// count counts the pods for the status of a reader.
func (p *podsOf) count(status *appsv1.DeploymentStatus, template string) {
	for _, pod := range p.each {
		status.Replicas++
		if pod.template == template {
			status.UpdatedReplicas++
		}
		if pod.state == running {
			status.AvailableReplicas++
		}
	}
}

// evict lets a pod go.
func (r *readers) evict(namespace, pod string) (int, any) {
	if r.refusesEvictions {
		refusal := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
		refusal.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "DisruptionBudget", Message: "The disruption budget needs 3 healthy pods and has 3 currently"}}
		return http.StatusTooManyRequests, refusal.ErrStatus
	}
	for name, d := range r.deployments {
		if d.Namespace == namespace && r.pods[name].remove(func(o *playedPod) bool { return o.name == pod }) {
			r.evicted, r.spared[name] = append(r.evicted, name), ignores(d)
			return http.StatusCreated, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess}
		}
	}
	return lostAnswer(http.StatusNotFound)
}

// revision is a pod template that a reader has or had.
type revision struct {
	of       *appsv1.Deployment
	template string
}

func (v revision) name() string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(v.template))
	return fmt.Sprintf("%s-%s-%x", v.of.Name, v.of.UID, h.Sum32())
}

func (v revision) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: v.name(), Namespace: v.of.Namespace, UID: types.UID(v.name()), OwnerReferences: []metav1.OwnerReference{{UID: v.of.UID, Controller: new(true)}},
	}
}

// revisionsIn returns those of a namespace that pods have, and the present ones.
func (r *readers) revisionsIn(namespace string) (all []revision) {
	for name, d := range r.deployments {
		if d.Namespace != namespace {
			continue
		}
		all = append(all, revision{d, templateOf(d)})
		for _, pod := range r.pods[name].each {
			if of := (revision{d, pod.template}); !slices.Contains(all, of) {
				all = append(all, of)
			}
		}
	}
	return all
}

// revisions answers a request for the revisions of a namespace.
func (r *readers) revisions(request *http.Request, namespace string) any {
	meta := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
	sets := appsv1.ReplicaSetList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSetList"}}
	others := appsv1.ControllerRevisionList{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ControllerRevisionList"}}
	for _, v := range r.revisionsIn(namespace) {
		meta.Items = append(meta.Items, metav1.PartialObjectMetadata{ObjectMeta: v.meta()})
		sets.Items = append(sets.Items, appsv1.ReplicaSet{ObjectMeta: v.meta(), Spec: appsv1.ReplicaSetSpec{Template: readTemplate(v.template)}})
		others.Items = append(others.Items, appsv1.ControllerRevision{ObjectMeta: v.meta(), Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":` + v.template + `}}`)}})
	}
	switch {
	case strings.Contains(request.Header.Get("Accept"), meta.Kind):
		return meta
	case r.kind == "":
		return sets
	}
	return others
}

func (r *readers) listEach(d *appsv1.Deployment) (pods []corev1.Pod) {
	for _, pod := range r.pods[nameOf(d)].each {
		template, of := readTemplate(pod.template), revision{d, pod.template}.name()
		owner := types.UID(of)
		if r.kind != "" {
			owner = d.UID
		}
		pods = append(pods, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: pod.name, Namespace: d.Namespace, UID: pod.uid, CreationTimestamp: metav1.NewTime(pod.created.Truncate(time.Second)), Annotations: template.Annotations,
				Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: of}, OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}},
			},
			Spec: template.Spec, Status: r.statusOfPod(pod.state, pod.since),
		})
	}
	return pods
}

func (r *readers) statusOfPod(state podState, since time.Time) corev1.PodStatus {
	status, ready, container := corev1.PodStatus{Phase: corev1.PodRunning}, corev1.ConditionFalse, corev1.ContainerStatus{Name: "app"}
	isStarted := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}
	switch {
	case state == unstarted:
		status.Phase, container.State.Waiting = corev1.PodPending, &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
	case state == running:
		ready, container.Ready, container.State = corev1.ConditionTrue, true, isStarted
	case r.hangs:
		container.State = isStarted
	default:
		container.RestartCount, container.State.Waiting = 5, &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}
	}
	status.ContainerStatuses = []corev1.ContainerStatus{container}
	status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.NewTime(since)}}
	return status
}
