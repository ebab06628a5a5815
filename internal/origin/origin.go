// Package origin tells what has made a pod template out of the one before: who wrote it, and what changed.
package origin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/internal/brief"
)

// Annotation is on the ReplicaSets that the deployment engine has made, and holds the [Origin] of their pod template.
const Annotation = "com.xing.deployment-restart.origin"

// The annotations with which a pod template is changed to restart its pods: the restart controller's, of which the second tells
// people what the restart is for, and that of kubectl rollout restart.
const (
	TimestampAnnotation = "com.xing.deployment-restart.timestamp"
	CauseAnnotation     = "com.xing.deployment-restart.cause"
	RestartedAt         = "kubectl.kubernetes.io/restartedAt"
)

// RestartAnnotations are all of them. The list must not be modified.
var RestartAnnotations = []string{TimestampAnnotation, CauseAnnotation, RestartedAt}

// Origin is what made a pod template out of the one before.
type Origin struct {
	// Of names the ReplicaSet: others copy annotations, and a copy says nothing.
	Of string `json:"of,omitempty"`
	// Manager is the field manager that wrote it last, empty if that is not known.
	Manager string `json:"manager,omitempty"`
	// Changes are the [Changes] from the one before, apart from restarts.
	Changes []string `json:"changes,omitempty"`
	// Restart is what a restart was for, if there are no other changes.
	Restart string `json:"restart,omitempty"`
}

// longestManager is how many bytes of a field manager are told, and longestCause how many of what a restart was for.
const (
	longestManager = 128
	longestCause   = 512
)

// Of returns what made a pod template out of the one before, nil for the first one. The entries are the managedFields of
// the object that has it.
func Of(before, after *corev1.PodTemplateSpec, entries []metav1.ManagedFieldsEntry) Origin {
	o := Origin{Manager: brief.Within(longestManager, managerOf(entries))}
	if before == nil {
		return o
	}
	if o.Changes = Changes(before, after, append(slices.Clip(RestartAnnotations), appsv1.DefaultDeploymentUniqueLabelKey)...); len(o.Changes) == 0 {
		o.Restart = restartOf(before.Annotations, after.Annotations)
	}
	return o
}

// restartOf says what a restart was for, by the annotations of a pod template before and after it.
func restartOf(before, after map[string]string) string {
	isChanged := func(name string) bool { return after[name] != "" && after[name] != before[name] }
	switch {
	case isChanged(TimestampAnnotation) && after[CauseAnnotation] != "":
		return brief.Within(longestCause, brief.Line(after[CauseAnnotation]))
	case isChanged(TimestampAnnotation):
		return "a config"
	case isChanged(RestartedAt):
		return "kubectl rollout restart"
	}
	return ""
}

// managerOf returns the field manager that last wrote something of a pod template.
func managerOf(entries []metav1.ManagedFieldsEntry) (manager string) {
	var last time.Time
	for i := range entries {
		entry := &entries[i]
		if entry.Subresource != "" || entry.FieldsV1 == nil || entry.Time == nil || !bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:template"`)) {
			continue
		}
		if manager == "" || entry.Time.After(last) {
			manager, last = entry.Manager, entry.Time.Time
		}
	}
	return manager
}

// IsEmpty reports whether it says nothing.
func (o Origin) IsEmpty() bool { return o.Manager == "" && o.Restart == "" && len(o.Changes) == 0 }

// Encode returns the value of [Annotation] for a ReplicaSet.
func (o Origin) Encode(replicaSet string) string {
	o.Of = replicaSet
	text, err := json.Marshal(o)
	if err != nil {
		panic(fmt.Sprintf("encode an origin: %v", err)) // it consists of texts
	}
	return string(text)
}

// longest is how many bytes of the annotation are read: anyone who may change ReplicaSets can write to it.
const longest = 32 << 10

// Decode reads the value of [Annotation] of a ReplicaSet, and reports whether that is about it.
func Decode(value, replicaSet string) (o Origin, isValid bool) {
	if value == "" || len(value) > longest || json.Unmarshal([]byte(value), &o) != nil || o.Of != replicaSet {
		return Origin{}, false
	}
	return o, true
}

// String says what it was, empty for the first template.
func (o Origin) String() string {
	switch {
	case len(o.Changes) > 0:
		return strings.Join(o.Changes, ", ")
	case o.Restart == "":
		return ""
	}
	return "restart: " + o.Restart
}
