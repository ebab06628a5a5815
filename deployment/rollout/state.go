package rollout

import (
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/internal/podtemplate"
)

// State is everything that a plan may look at. Plans do not modify it or what it
// points to.
//
// Numbers of pods are int64, although the API uses int32, because plans add and multiply
// them.
type State struct {
	// Now is the time of the observation. Conditions are stamped with it.
	Now        time.Time
	Deployment *Deployment
	// ReplicaSets are the ReplicaSets that the Deployment controls, in any order.
	ReplicaSets []*ReplicaSet
	// Orphans are the ReplicaSets of the namespace that have no controller.
	Orphans []*ReplicaSet
	// Pods is how many pods of each ReplicaSet, by its UID, exist and have not finished,
	// including terminating pods. It is nil while that is not known, and the Recreate
	// strategy waits until it is. [Deployment.NeedsPods] reports whether a plan needs it.
	Pods map[types.UID]int
	// Creation describes how the last attempt to create a ReplicaSet failed.
	Creation CreationFailure
	// Created names the ReplicaSet that this process has created since it last wrote the
	// status; empty if it has not created any.
	Created string
	// StatusWritten is when this process last wrote the Deployment's status, and
	// StepTaken when it last wrote anything else for it; zero if it never did.
	StatusWritten, StepTaken time.Time
	// Trial is what this process has seen of the present release, nil for nothing.
	Trial *Trial
	// Refused is what the API server has refused to take, the zero value for nothing.
	Refused RefusedRuns
	// IsBackup means that another controller drives whenever it runs. It knows nothing of releases that fall back.
	IsBackup bool
}

// RefusedRuns is a [Deployment.Runs] that the API server refused at a time.
type RefusedRuns struct {
	UID types.UID
	At  time.Time
}

// CreationFailure describes why the new ReplicaSet could not be created. The zero value
// means that there was no failure.
type CreationFailure struct {
	// Name is the name of the ReplicaSet.
	Name string
	// Collided means that another ReplicaSet already had the name. Otherwise, Message
	// says what is wrong.
	Collided bool
	Message  string
	// IsAltered means that the ReplicaSet was created with another pod template than
	// intended, and IsReported that an Event has said so.
	IsAltered, IsReported bool
}

// Deployment is the part of a Deployment that a plan may look at. It is immutable.
type Deployment struct {
	Meta
	Generation  int64
	Annotations map[string]string // without kubectl's last applied configuration
	Deleting    bool              // its deletion was requested

	Replicas        int64
	Paused          bool
	Strategy        appsv1.DeploymentStrategyType
	Limits          Limits
	MinReadySeconds int32
	// HistoryLimit is how many old ReplicaSets are kept; nil means all of them.
	HistoryLimit *int32
	// ProgressDeadline is how long a rollout may make no progress; nil means forever.
	ProgressDeadline *time.Duration
	// Selector is the selector as in the API object, nil if it is too large.
	Selector *metav1.LabelSelector
	Template EncodedTemplate
	Sum      podtemplate.Sum // of Template
	Bare     podtemplate.Sum // of Template without the annotations of restarts, if it asks to fall back
	// Runs is the UID of the ReplicaSet whose reads it shows, empty if it shows none; see [podtemplate.RunsAnnotation].
	Runs types.UID

	// Invalid is why no plan can be made, nil if a plan can be made.
	Invalid *Invalid

	Status appsv1.DeploymentStatus
	// StatusBy is the last write of the status by a field manager other than this engine.
	StatusBy StatusWrite
}

// Invalid is a reason not to plan, as the reason and message of an Event.
type Invalid struct{ Reason, Message string }

// Meta is what a write needs to know about an object.
type Meta struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// Heavy means that the object takes much memory while it is decoded, because its specification is large.
	Heavy bool
}

// Key returns the namespace and name.
func (m *Meta) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
}

// Identity returns the Meta itself, also for a value that embeds it.
func (m *Meta) Identity() *Meta { return m }

// maxReplicas returns how many pods there may be.
func (d *Deployment) maxReplicas() int64 { return d.Replicas + d.Limits.MaxSurge }

// minAvailable returns how many pods a rolling update must leave available.
func (d *Deployment) minAvailable() int64 { return d.Replicas - d.Limits.MaxUnavailable }

// ReplicaSet is the part of a ReplicaSet that a plan may look at. It is immutable.
type ReplicaSet struct {
	Meta
	Created time.Time
	// Hash is the value of its HashLabel, nil if it has no such label. Labels are its other labels.
	Hash   *string
	Labels Pairs
	// Annotations are those of its OwnAnnotations. Copied are the ones that go with the template.
	Annotations map[string]string
	Copied      Pairs
	// Controller is the UID of its controller, empty if it has no controller. If the
	// controller is a Deployment, ControllerName is its name.
	Controller     types.UID
	ControllerName string
	Deleting       bool
	Sum            podtemplate.Sum // of its pod template
	Bare           podtemplate.Sum // of its pod template without the annotations of restarts, if its Deployment asked to fall back

	Replicas        int64 // wanted
	MinReadySeconds int32

	// Observed means that the following fields belong to its present generation.
	Observed                   bool
	Existing, Ready, Available int64
	Terminating                *int32 // nil: not reported
	Failure                    *appsv1.ReplicaSetCondition
}

// SetLabels sets all labels of a new ReplicaSet.
func (rs *ReplicaSet) SetLabels(all map[string]string) {
	rs.Hash, rs.Labels = nil, PackPairs(all, func(key string) bool { return key != HashLabel })
	if hash, found := all[HashLabel]; found {
		rs.Hash = &hash
	}
}

// SetAnnotations sets all annotations of a new ReplicaSet that plans look at.
func (rs *ReplicaSet) SetAnnotations(all map[string]string) {
	rs.Annotations, rs.Copied = own(all), PackPairs(all, IsCopied)
}

// AllLabels returns its labels, including the hash, in a new map.
func (rs *ReplicaSet) AllLabels() map[string]string {
	all := rs.Labels.Map(1)
	if rs.Hash != nil {
		all[HashLabel] = *rs.Hash
	}
	return all
}

// allAnnotations returns its annotations, in a new map.
func (rs *ReplicaSet) allAnnotations() map[string]string {
	all := rs.Copied.Map(len(rs.Annotations))
	maps.Copy(all, rs.Annotations)
	return all
}

// NewReplicaSet returns that of the ReplicaSets which has the Deployment's template, nil if there is none. If
// two have it, the older one counts.
func (d *Deployment) NewReplicaSet(sets []*ReplicaSet) (found *ReplicaSet) {
	for _, rs := range sets {
		if rs.Sum == d.Sum && (found == nil || byAge(rs, found) < 0) {
			found = rs
		}
	}
	return found
}

// isFinished reports whether a ReplicaSet has no pods and is not about to get any.
func (rs *ReplicaSet) isFinished() bool {
	return rs.Replicas == 0 && rs.Existing == 0 && rs.Observed && !rs.Deleting
}

// hasTerminating reports whether a ReplicaSet is known to have terminating pods.
func (rs *ReplicaSet) hasTerminating() bool { return rs.Terminating != nil && *rs.Terminating > 0 }

// byAge orders ReplicaSets, the oldest first. The API's times are whole seconds, so names
// decide between ReplicaSets of the same second.
func byAge(a, b *ReplicaSet) int {
	if order := a.Created.Compare(b.Created); order != 0 {
		return order
	}
	return strings.Compare(a.Name, b.Name)
}

// oldestFirst returns a sorted copy of the ReplicaSets.
func oldestFirst(sets []*ReplicaSet) []*ReplicaSet {
	sorted := slices.Clone(sets)
	slices.SortFunc(sorted, byAge)
	return sorted
}

// ToInt32 converts a number of pods for the API.
func ToInt32(n int64) int32 { return int32(min(max(n, 0), math.MaxInt32)) }
