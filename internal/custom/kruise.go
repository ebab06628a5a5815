package custom

import (
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kubernetes-deployment-restart-controller/catalog/workload"
)

// cloneSet is the CloneSet of OpenKruise: https://openkruise.io/docs/user-manuals/cloneset.
var cloneSet = &preset{
	resource: "clonesets", group: "apps.kruise.io", kind: "CloneSet", version: "v1alpha1",
	read: func(o *opened, parts *workload.Parts) {
		strategy := read[kruiseStrategy](o.spec["updateStrategy"])
		readKruise(o, parts, strategy.Type, strategy.kruiseRolling)
	},
	revisionLabel: appsv1.ControllerRevisionHashLabelKey, revision: kruiseRevision, ownsPods: true,
}

// advancedStatefulSet is the StatefulSet of OpenKruise: https://openkruise.io/docs/user-manuals/advancedstatefulset.
var advancedStatefulSet = &preset{
	resource: "statefulsets", group: "apps.kruise.io", kind: "StatefulSet", version: "v1beta1",
	read: func(o *opened, parts *workload.Parts) {
		strategy := read[kruiseStrategy](o.spec["updateStrategy"])
		if readKruise(o, parts, strategy.RollingUpdate.PodUpdatePolicy, strategy.RollingUpdate); strategy.Type == string(appsv1.OnDeleteStatefulSetStrategyType) {
			parts.Hold = workload.OnDelete
		}
	},
	revisionLabel: appsv1.ControllerRevisionHashLabelKey, revision: kruiseRevision, ownsPods: true,
}

type kruiseStrategy struct {
	Type          string        `json:"type"`
	RollingUpdate kruiseRolling `json:"rollingUpdate"`
	kruiseRolling               // a CloneSet has them here
}

type kruiseRolling struct {
	PodUpdatePolicy string             `json:"podUpdatePolicy"`
	Partition       intstr.IntOrString `json:"partition"`
	Paused          bool               `json:"paused"`
}

type kruiseStatus struct {
	counts
	UpdateRevision  string `json:"updateRevision"`
	CurrentRevision string `json:"currentRevision"`
}

// readKruise completes the parts. The policies InPlaceIfPossible and InPlaceOnly change annotations of the pods that
// run, which restarts no container: https://openkruise.io/docs/core-concepts/inplace-update.
func readKruise(o *opened, parts *workload.Parts, policy string, rolling kruiseRolling) {
	status := read[kruiseStatus](o.Status)
	status.rollout(o, &parts.Rollout)
	parts.Rollout.Completed = status.UpdateRevision != "" && status.CurrentRevision == status.UpdateRevision
	switch {
	case strings.HasPrefix(policy, "InPlace"):
		parts.Hold = workload.InPlace
	case rolling.Paused:
		parts.Hold = workload.Paused
	case leavesPods(rolling.Partition):
		parts.Hold = workload.Partitioned
	}
}

// leavesPods reports whether a partition, which is a number or a percentage, leaves pods of the earlier revision.
func leavesPods(partition intstr.IntOrString) bool {
	if partition.Type == intstr.Int {
		return partition.IntVal > 0
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(partition.StrVal, "%"))
	return err == nil && percent > 0
}

func kruiseRevision(o *Object) string {
	status := read[kruiseStatus](o.Status)
	if !status.observes(o.Generation) {
		return ""
	}
	return status.UpdateRevision
}
