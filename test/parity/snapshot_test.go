package parity

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// snapshot is what is compared: copies of all objects without what can never be
// the same on two clusters. Its fields are exported for go-cmp.
type snapshot struct {
	Deployments []*appsv1.Deployment // by name
	ReplicaSets []*appsv1.ReplicaSet // by name
	Events      []event              // by Deployment, in the order of their first occurrence
}

// event is what is compared of an Event on a Deployment.
type event struct {
	Deployment, Type, Reason, Message string
	Count                             int32
	Component, ReportingController    string
}

func newSnapshot(v *view) *snapshot {
	s := &snapshot{}
	for _, d := range v.deployments {
		s.Deployments = append(s.Deployments, cleanDeployment(d.DeepCopy()))
	}
	for _, rs := range v.replicaSets {
		s.ReplicaSets = append(s.ReplicaSets, cleanReplicaSet(rs.DeepCopy()))
	}
	for _, e := range inOrderOfOccurrence(v.events) {
		s.Events = append(s.Events, cleanEvent(e))
	}
	s = s.withoutRestartTimes()
	slices.SortFunc(s.Deployments, func(a, b *appsv1.Deployment) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.ReplicaSets, func(a, b *appsv1.ReplicaSet) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// String is for messages.
func (s *snapshot) String() string {
	text, err := yaml.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func cleanDeployment(d *appsv1.Deployment) *appsv1.Deployment {
	cleanMeta(&d.ObjectMeta)
	for i := range d.Status.Conditions {
		c := &d.Status.Conditions[i]
		c.LastUpdateTime, c.LastTransitionTime = metav1.Time{}, metav1.Time{}
		c.Message = withoutPodNames(c.Message)
	}
	return d
}

func cleanReplicaSet(rs *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	if rs.Status.ObservedGeneration == rs.Generation {
		rs.Generation, rs.Status.ObservedGeneration = 0, 0
	}
	cleanMeta(&rs.ObjectMeta)
	for i := range rs.Status.Conditions {
		c := &rs.Status.Conditions[i]
		c.LastTransitionTime = metav1.Time{}
		c.Message = withoutPodNames(c.Message)
	}
	return rs
}

func cleanMeta(m *metav1.ObjectMeta) {
	m.UID, m.ResourceVersion, m.ManagedFields = "", "", nil
	m.CreationTimestamp = metav1.Time{}
	delete(m.Annotations, originAnnotation)
	if m.DeletionTimestamp != nil {
		m.DeletionTimestamp = new(metav1.Unix(1, 0)) // it is there
	}
	for i := range m.OwnerReferences {
		m.OwnerReferences[i].UID = ""
	}
}

var podName = regexp.MustCompile(`pods "([a-z0-9.-]+)-[a-z0-9]{5}"`)

// withoutPodNames replaces the end that the API server gives to a pod's name.
func withoutPodNames(message string) string {
	return podName.ReplaceAllString(message, `pods "$1-RANDOM"`)
}

// inOrderOfOccurrence sorts each Deployment's Events by the time of their first
// occurrence, which in nanoseconds is the end of their names.
func inOrderOfOccurrence(events []*corev1.Event) []*corev1.Event {
	return slices.SortedFunc(slices.Values(events), func(a, b *corev1.Event) int {
		return cmp.Or(cmp.Compare(a.InvolvedObject.Name, b.InvolvedObject.Name), cmp.Compare(occurrence(a), occurrence(b)))
	})
}

func occurrence(e *corev1.Event) string { return e.Name[strings.LastIndexByte(e.Name, '.')+1:] }

func cleanEvent(e *corev1.Event) event {
	return event{
		Deployment: e.InvolvedObject.Name, Type: e.Type, Reason: e.Reason, Message: withoutPodNames(e.Message), Count: e.Count,
		Component: e.Source.Component, ReportingController: e.ReportingController,
	}
}

const revisionAnnotation = "deployment.kubernetes.io/revision"

// originAnnotation is a note of the engine's on ReplicaSets, from where kubectl rollout undo copies it.
const originAnnotation = "com.xing.deployment-restart.origin"

// restartedAt is what kubectl rollout restart sets in a template: the time.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// withoutRestartTimes replaces the times that kubectl rollout restart has put into
// templates, and the hashes that come of them, by the ReplicaSet's revision.
func (s *snapshot) withoutRestartTimes() *snapshot {
	replacements := map[string]string{}
	for _, rs := range s.ReplicaSets {
		if at, restarted := rs.Spec.Template.Annotations[restartedAt]; restarted {
			revision := rs.Annotations[revisionAnnotation]
			replacements[at] = "TIME-OF-" + revision
			replacements[rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey]] = "HASH-OF-" + revision
		}
	}
	if len(replacements) == 0 {
		return s
	}
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // it holds nothing but API objects
	}
	changed := string(text)
	for _, old := range slices.Sorted(maps.Keys(replacements)) {
		changed = strings.ReplaceAll(changed, old, replacements[old])
	}
	var result snapshot
	if err := json.Unmarshal([]byte(changed), &result); err != nil {
		panic(fmt.Sprintf("%v: %s", err, changed))
	}
	return &result
}
