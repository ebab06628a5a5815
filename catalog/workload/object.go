package workload

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
)

// Object is what the API shows of a workload: its object, without the record. [NewWorkload] sets it.
type Object struct {
	Ref             names.WorkloadRef
	UID             types.UID
	ResourceVersion string
	// Selector selects the workload's pods, in the form that the API takes.
	Selector string
	// Template identifies the pod template without the restart timestamp,
	// PodTemplate the pod template with it.
	Template, PodTemplate record.Fingerprint
	// Timestamp is the restart timestamp of the pod template, empty if it has none.
	Timestamp string
	// References are sorted. If there are too many, References is empty, and there is no record.
	References []template.Reference
	// RestartAt is when the spec asks the workload's own controller to replace its pods, in seconds of Unix time, 0 if it
	// does not; see [OwnRestart].
	RestartAt uint32
	// Rollout is what the status says.
	Rollout Rollout
	// Excess says whether there are too many references. The controller then leaves the workload alone.
	Excess Excess
	// Idle means that the workload wants no pods. Some may still run, and stay if it wants pods
	// again before its controller has deleted them.
	Idle bool
	// Deleting means that the workload is being deleted.
	Deleting bool
	Hold     Hold
	// TemplateHold is what would be the Hold if the workload did not restart by eviction. It concerns only the rollout of
	// another pod template; see [Object.AwaitsRollout].
	TemplateHold Hold
	// Bare tells the pod templates of the workload apart, without anything that restarts them, by whomever.
	Bare record.BareFingerprint
	// GracePeriod is nil for workloads that leave it to the controller.
	GracePeriod *GracePeriod
	// Policy is what the annotations ask of restarts, nil for most workloads.
	Policy *policy.WorkloadPolicy
	// OptedIn is the earliest known time by which the workload had opted in, by the API server's
	// clock in whole seconds; zero if it is not known.
	OptedIn time.Time
	// Writers is nil while the record is trusted.
	Writers *Writers
}

// Writers are field managers that wrote parts of a workload, each empty if the API does not show it.
type Writers struct {
	// Template wrote the timestamp of the pod template or, without a timestamp, wrote last.
	Template annotation.TimestampWriter
	// Record last wrote the annotations of the record, if they exist.
	Record string
}

// writers returns the known writers.
func (o *Object) writers() Writers {
	if o.Writers == nil {
		return Writers{}
	}
	return *o.Writers
}

// RecordWriter returns [Writers.Record], which is empty while the record is trusted.
func (o *Object) RecordWriter() string { return o.writers().Record }

// HoldNow returns why the workload holds restarts, empty if it does not, and since when.
func (o *Object) HoldNow() (text string, set policy.HoldTime) {
	if o.Policy == nil {
		return "", policy.HoldTime{}
	}
	return o.Policy.Hold, o.Policy.HoldSet
}

// Hold is what prevents a patched workload from restarting its pods by itself.
type Hold uint8

// The holds.
const (
	NoHold Hold = iota
	Paused
	OnDelete
	Partitioned
	// PartlyPartitioned workloads restart the pods from their partition up by themselves.
	PartlyPartitioned
	// Untriggered workloads roll out nothing by themselves, whatever changes.
	Untriggered
	// InPlace workloads change the annotations of the pods that run, which restarts nothing. Unlike with the other
	// holds, the pods would look as if they had restarted; see [Hold.Prevents].
	InPlace
)

// CannotRoll reports whether the patch of a restart is written although it replaces no pods: somebody else has to act
// first, or none are wanted. It is false if the hold prevents the patch itself; see [Hold.Prevents].
func (o *Object) CannotRoll() bool { return o.Hold.HoldsAll() && o.Hold.Prevents() == "" || o.Idle }

// HoldsAll reports whether a patched workload restarts none of its pods by itself.
func (h Hold) HoldsAll() bool { return h != NoHold && h != PartlyPartitioned }

// Prevents returns why no restart may begin, empty if the patch of a restart does what it can.
func (h Hold) Prevents() string {
	if h != InPlace {
		return ""
	}
	return "its update strategy updates pods in place, which restarts nothing: set it to ReCreate"
}
