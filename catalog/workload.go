package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// The annotations by which the controller and its users talk.
const (
	// EnabledAnnotation opts a workload in if its value is [Enabled].
	EnabledAnnotation = "com.xing.deployment-restart"
	Enabled           = "enabled"
	// gracePeriodAnnotation gives a workload a grace period of its own.
	gracePeriodAnnotation = "com.xing.deployment-restart.grace-period"
	// TimestampAnnotation is set on the pod template to restart the pods.
	TimestampAnnotation = "com.xing.deployment-restart.timestamp"
)

// WorkloadKind is the kind of a workload as the API spells it.
type WorkloadKind string

// The kinds of workloads.
const (
	Deployment  WorkloadKind = "Deployment"
	StatefulSet WorkloadKind = "StatefulSet"
	DaemonSet   WorkloadKind = "DaemonSet"
)

// WorkloadRef names a workload.
type WorkloadRef struct {
	Kind      WorkloadKind
	Namespace string
	Name      string
}

// String returns "kind/namespace/name" with the kind in lower case.
func (r WorkloadRef) String() string {
	return strings.ToLower(string(r.Kind)) + "/" + r.Namespace + "/" + r.Name
}

// MarshalText makes logs of every format show the workload by its name.
func (r WorkloadRef) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Hold is what keeps a patched workload from restarting its pods by itself.
type Hold string

// The holds.
const (
	NoHold      Hold = ""
	Paused      Hold = "paused"
	OnDelete    Hold = "on delete"
	Partitioned Hold = "partitioned"
)

// Workload is what the catalog keeps of a workload that opted in.
type Workload struct {
	Ref             WorkloadRef
	UID             types.UID
	ResourceVersion string
	// Selector selects the workload's pods, in the form that the API takes.
	Selector string
	// Template identifies the pod template without the restart timestamp,
	// PodTemplate the pod template with it.
	Template, PodTemplate Fingerprint
	// Timestamp is the restart timestamp of the pod template, empty if it has none.
	Timestamp string
	// References are sorted. There are none, and nor is there a record, if there are too many.
	References []Reference
	// TooManyReferences tells that the pod template has more than [MaxReferences]. Such
	// a workload is left alone.
	TooManyReferences bool
	Applied           AppliedState
	// Room is how many bytes of checksums can be recorded on the workload.
	Room int
	// Idle tells that the workload wants no pods. Some may still run, and stay if it wants
	// pods again before its controller has come to them.
	Idle bool
	// Deleting tells that the workload is being deleted.
	Deleting bool
	Hold     Hold
	// GracePeriod is how long changes are held back for this workload; nil stands
	// for the controller's default. Problem tells what is wrong with the annotation
	// that sets it, and is empty for one that is fine or absent.
	GracePeriod *time.Duration
	Problem     string
	// OptedIn is a time by which the workload had opted in, as early as the API
	// tells, by its server's clock in whole seconds; zero if that is not known.
	OptedIn time.Time

	// TemplateWriter is the field manager that wrote the timestamp of the pod template, or
	// else wrote last, as far as the API tells. It is left empty while the record is trusted.
	TemplateWriter string
	// RecordWriter is the field manager that last wrote the annotations of the record, if they are
	// there and the API tells. It is left empty while the record is trusted.
	RecordWriter string

	// EnabledSeen is the moment at which the watch first showed the workload as opted in, and
	// EnabledAfter one up to which it had not: before the same event, or before the list that
	// followed a gap; 0 if it was opted in before the catalog watched. A [Catalog] sets them.
	EnabledAfter, EnabledSeen Sequence
	// PodTemplateSeen is the moment at which the watch first showed the present pod template,
	// 0 if it is only known from a list. A [Catalog] sets it.
	PodTemplateSeen Sequence
	// RecordSeen is the moment at which the present record was made or first shown.
	RecordSeen Sequence
	// PodsSeen is the moment at which the pods of the present template were last found to have
	// what is recorded, since the record; 0 if they were not. A [Catalog] sets it.
	PodsSeen Sequence
	// OwnRecord tells that the present record was decided on a view of the catalog, which
	// therefore knew what it tells. A [Catalog] sets it.
	OwnRecord bool
	// MarkSeen tells that the record is marked as contradicted, and that the watch showed how
	// that began. A [Catalog] sets it.
	MarkSeen bool
	// RecordUndone tells that the record was trusted for the present template before, restarts
	// aside, and that somebody removed or replaced it. A [Catalog] sets it.
	RecordUndone bool
	// Woke is the moment at which the watch showed that the workload, idle before,
	// wants pods; 0 if it never did.
	Woke Sequence
}

// rested reports whether the workload has wanted no pods at some time since its record, or
// may have. Those that it has now may then be younger than the record.
func (w *Workload) rested() bool { return w.Idle || w.Woke > 0 && w.Woke >= w.RecordSeen }

// IsEnabled reports whether a workload with these annotations opted in.
func IsEnabled(meta *metav1.ObjectMeta) bool { return meta.Annotations[EnabledAnnotation] == Enabled }

// Parts are what the kinds of workloads have in common, wherever each kind has it.
type Parts struct {
	Meta     *metav1.ObjectMeta
	Selector *metav1.LabelSelector
	Template *corev1.PodTemplateSpec
	// Idle and Hold are those of the [Workload].
	Idle bool
	Hold Hold
}

// NewWorkload reduces a workload to what the catalog keeps of it. It does not modify the parts.
func NewWorkload(kind WorkloadKind, parts *Parts) (Workload, error) {
	meta, template := parts.Meta, parts.Template
	pods, err := metav1.LabelSelectorAsSelector(parts.Selector)
	if err != nil {
		return Workload{}, fmt.Errorf("read selector: %w", err)
	}
	full, bare := fingerprints(template)
	gracePeriod, problem := readGracePeriod(meta)
	references, fit := referencesOf(meta.Namespace, &template.Spec)
	w := Workload{
		Ref:             WorkloadRef{Kind: kind, Namespace: meta.Namespace, Name: meta.Name},
		UID:             meta.UID,
		ResourceVersion: meta.ResourceVersion,
		Selector:        pods.String(),
		Template:        bare,
		PodTemplate:     full,
		References:      references,
		Room:            roomForChecksums(meta),
		Deleting:        meta.DeletionTimestamp != nil,
		GracePeriod:     gracePeriod,
		Problem:         problem,
		OptedIn:         optedInBy(meta),
		Timestamp:       restartTimestamp(template),
		Idle:            parts.Idle,
		Hold:            parts.Hold,

		TooManyReferences: !fit,
	}
	if fit {
		w.Applied = readRecord(meta, template, bare).keptFor(references)
	}
	if earlier := w.Applied.Earlier; earlier != nil && earlier.ByOriginal {
		earlier.Beyond = beyondOriginal(&w, &template.Spec)
	}
	if fit && !w.Applied.Trusted {
		w.TemplateWriter, w.RecordWriter = timestampWriter(meta), recordWriter(meta)
	}
	return w, nil
}

// readGracePeriod reads the workload's own grace period, if it has one.
func readGracePeriod(meta *metav1.ObjectMeta) (period *time.Duration, problem string) {
	text, found := meta.Annotations[gracePeriodAnnotation]
	if !found {
		return nil, ""
	}
	parsed, err := time.ParseDuration(text)
	if err != nil || parsed < 0 {
		return nil, fmt.Sprintf("annotation %s: %.40q is not a duration such as 90s, 2m or 1h30m", gracePeriodAnnotation, text)
	}
	return &parsed, ""
}

// Grace returns how long changes are held back for the workload, given the controller's default.
func (w *Workload) Grace(standard time.Duration) time.Duration {
	if w.GracePeriod != nil {
		return *w.GracePeriod
	}
	return standard
}

// Configs returns the configs that the workload references, sorted, each once.
func (w *Workload) Configs() []ConfigRef {
	configs := make([]ConfigRef, 0, len(w.References))
	for references := range runs(w.References, ofOneConfig) {
		configs = append(configs, references[0].Config)
	}
	return configs
}

func ofOneConfig(a, b *Reference) bool { return a.Config == b.Config }

// EnvironmentReaders returns the containers that read configs from their environment,
// sorted, each once: those whose starts matter to a decision.
func (w *Workload) EnvironmentReaders() []string {
	var containers []string
	for _, reference := range w.References {
		if reference.Channel == Environment {
			containers = append(containers, reference.Container)
		}
	}
	slices.Sort(containers)
	return slices.Compact(containers)
}

// readWith returns the workload as who has that key can read it: without recorded
// checksums that were made with another one. It does not modify the workload.
func (w *Workload) readWith(key ChecksumKey) *Workload {
	if w.Applied.Key == "" || w.Applied.Key == key.ID() {
		return w
	}
	readable := *w
	readable.Applied.Checksums = w.Applied.Checksums.public()
	return &readable
}

// newer reports whether a is a later state of a workload than b. The API server
// makes resource versions of one kind comparable:
// https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions.
func newer(a, b *Workload) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	if err != nil {
		return a.ResourceVersion != b.ResourceVersion
	}
	return order > 0
}
