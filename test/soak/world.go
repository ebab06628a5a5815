package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kubernetes-deployment-restart-controller/test/soak/model"
)

const (
	methodAnnotation    = "com.xing.deployment-restart.method"
	graceAnnotation     = "com.xing.deployment-restart.grace-period"
	checksumsAnnotation = "com.xing.deployment-restart.applied-config-checksums"
	basisAnnotation     = "com.xing.deployment-restart.applied-config-basis"
	timestampAnnotation = "com.xing.deployment-restart.timestamp"
	causeAnnotation     = "com.xing.deployment-restart.cause"
	namespaceCount      = 3
	sharedEach          = 60 // configs, of which one for each worker is shared
	waveEach            = 40 // workloads, of which one is in a later wave
)

// config is a ConfigMap or Secret of the soak. Keys under "data/" and "binary/" are
// those of the API.
type config struct {
	kind, namespace, name string
	// lively ones get content that somebody sees. The others only get edits that
	// matter to nobody: their workloads must never restart for them.
	lively bool
	// steady ones are used by steady workloads only. They alone are deleted and made
	// again, and lose keys: without a trusted record, the API does not distinguish such
	// changes that nobody saw (docs/design.md, Limits).
	steady  bool
	readers []*workload
	content map[string]string // nil while it is deleted
	flips   int               // edits that are to be undone
	// shared ones have many readers and are seldom edited, but become bad, and are held.
	shared    bool
	bad, held bool
	// blind are keys that no user sees.
	blind []string
}

func (c *config) ref() model.ConfigRef {
	return model.ConfigRef{Kind: c.kind, Name: c.namespace + "/" + c.name}
}

// workload is one of the soak. Its fields say what it is to be; only its worker in
// the driver changes them.
type workload struct {
	kind, namespace, name string
	// steady ones are always enabled, and never made again, scaled to zero, or
	// given another template, so that their records are always trusted.
	steady bool
	never  bool // never enabled
	uses   []use

	// ownGrace is a grace period of its own, so long that pods start within it; 0 if it has none.
	ownGrace time.Duration

	// evicts is for those that restart by eviction. The StatefulSets among them that are steady are OnDelete.
	evicts bool

	enabled, paused bool
	held            bool
	wave            int
	replicas        int32
	image           int
	recreate        bool // the strategy of a Deployment
	surge, missing  int
}

func (d *workload) ref() model.WorkloadRef {
	return model.WorkloadRef{Kind: d.kind, Name: d.namespace + "/" + d.name}
}

// use is one way of a workload to read a config.
type use struct {
	config   *config
	how      how
	optional bool
}

type how int

const (
	byEnvFrom  how = iota // all of data
	byEnv                 // one key
	asVolume              // everything
	asItem                // one key, in a volume
	howsToRead            // how many there are
)

// theKey is the one that byEnv and asItem read.
const theKey = "a"

func (u *use) model() model.Use {
	seen := model.Use{Config: u.config.ref(), Optional: u.optional}
	switch u.how {
	case byEnvFrom:
		seen.Keys = []string{"data/"}
	case byEnv, asItem:
		seen.Keys = []string{"data/" + theKey}
	}
	return seen
}

// world is everything that the soak makes.
type world struct {
	configs   []*config
	workloads []*workload
	crowd     *config // not one of the configs, nor its readers of the workloads
}

// everything returns all configs and workloads.
func (w *world) everything() ([]*config, []*workload) {
	return append(slices.Clone(w.configs), w.crowd), slices.Concat(w.workloads, w.crowd.readers)
}

// newWorld draws a world with that many workloads.
func newWorld(random *rand.Rand, size int) *world {
	w := &world{crowd: newCrowd()}
	for i := range size {
		c := &config{
			kind: "configmap", namespace: namespaceOf(random.IntN(namespaceCount)), name: fmt.Sprintf("config-%d", i),
			lively: random.IntN(10) < 7, steady: true,
		}
		if random.IntN(5) < 2 {
			c.kind = "secret"
		}
		c.shared = i%sharedEach < workers // so that each worker has some
		c.lively = c.lively || c.shared
		c.content = map[string]string{"data/a": "first", "data/b": "first"}
		if c.kind == "configmap" {
			c.content["binary/blob"] = "first"
		}
		w.configs = append(w.configs, c)
	}
	for i := range size {
		w.workloads = append(w.workloads, w.newWorkload(random, i))
	}
	for _, c := range w.configs {
		c.blind = c.blindKeys()
	}
	return w
}

// namespaces returns all that are judged.
func namespaces() []string {
	all := []string{crowdNamespace}
	for i := range namespaceCount {
		all = append(all, namespaceOf(i))
	}
	return all
}

func namespaceOf(i int) string { return fmt.Sprintf("soak-%d", i+1) }

func (w *world) newWorkload(random *rand.Rand, i int) *workload {
	d := &workload{
		kind: []string{"Deployment", "Deployment", "StatefulSet", "DaemonSet"}[i%4],
		name: fmt.Sprintf("app-%d", i), steady: random.IntN(5) < 2, enabled: true, replicas: 1 + random.Int32N(3),
	}
	if !d.steady && random.IntN(4) == 0 {
		d.never, d.enabled = true, false
	}
	if random.IntN(4) == 0 {
		d.ownGrace = patientGrace + time.Duration(random.IntN(3))*time.Second
	}
	d.recreate = random.IntN(6) == 0
	d.surge = random.IntN(3)
	d.missing = random.IntN(2)
	if d.surge == 0 {
		d.missing = 1
	}
	d.namespace = w.configs[i].namespace
	d.read(random, w.configs[i]) // so that none is without a user
	if i%waveEach == 0 {
		d.wave = 1
	}
	switch i % 16 {
	case 4, 12:
		d.kind = gadgetKind
	case 5, 6, 7: // one of each other kind
		d.evicts = true
	}
	for range random.IntN(3) {
		if c := w.configs[random.IntN(len(w.configs))]; c.namespace == d.namespace {
			d.read(random, c)
		}
	}
	if shared := w.configs[random.IntN(len(w.configs))/sharedEach*sharedEach+random.IntN(workers)]; shared.namespace == d.namespace {
		d.read(random, shared)
	}
	return d
}

func (d *workload) read(random *rand.Rand, c *config) {
	for i := range d.uses {
		if d.uses[i].config == c {
			return
		}
	}
	c.readers = append(c.readers, d)
	c.steady = c.steady && d.steady
	d.uses = append(d.uses, use{c, how(random.IntN(int(howsToRead))), random.IntN(4) == 0})
}

// blindKeys returns keys that an edit can set without anybody seeing it.
func (c *config) blindKeys() (keys []string) {
	candidates := []string{"data/b", "data/noise"}
	if c.kind == "configmap" {
		candidates = append(candidates, "binary/blob")
	}
	for _, key := range candidates {
		if len(c.readersOf(key)) == 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// readersOf returns the workloads whose pods see a key.
func (c *config) readersOf(key string) (readers []*workload) {
	for _, d := range c.readers {
		if slices.ContainsFunc(d.uses, func(u use) bool { seen := u.model(); return u.config == c && seen.Sees(key) }) {
			readers = append(readers, d)
		}
	}
	return readers
}

func (d *workload) meta() metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Namespace: d.namespace, Name: d.name, Labels: map[string]string{"app": d.name}, Annotations: map[string]string{}}
	if own := d.optIn(); own != "" {
		meta.Annotations[enabledAnnotation] = own
	}
	if d.wave != 0 {
		meta.Annotations[waveAnnotation] = strconv.Itoa(d.wave)
	}
	if d.evicts {
		meta.Annotations[methodAnnotation] = "evict"
	}
	if d.ownGrace > 0 {
		meta.Annotations[graceAnnotation] = d.ownGrace.String()
	}
	return meta
}

func (d *workload) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": d.name}}
}

func (d *workload) template() corev1.PodTemplateSpec {
	container := corev1.Container{Name: "main", Image: fmt.Sprintf("example/main:%d", d.image)}
	spec := corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(0))}
	for i := range d.uses {
		d.uses[i].addTo(&spec, &container)
	}
	spec.Containers = []corev1.Container{container}
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": d.name}}, Spec: spec}
}

func (u *use) addTo(spec *corev1.PodSpec, container *corev1.Container) {
	name, optional, isSecret := corev1.LocalObjectReference{Name: u.config.name}, &u.optional, u.config.kind == "secret"
	switch u.how {
	case byEnvFrom:
		source := corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: name, Optional: optional}}
		if isSecret {
			source = corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: name, Optional: optional}}
		}
		container.EnvFrom = append(container.EnvFrom, source)
	case byEnv:
		source := corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: name, Key: theKey, Optional: optional}}
		if isSecret {
			source = corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: name, Key: theKey, Optional: optional}}
		}
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("V%d", len(container.Env)), ValueFrom: &source})
	default:
		var items []corev1.KeyToPath
		if u.how == asItem {
			items = []corev1.KeyToPath{{Key: theKey, Path: theKey}}
		}
		source := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: name, Items: items, Optional: optional}}
		if isSecret {
			source = corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: u.config.name, Items: items, Optional: optional}}
		}
		volume := fmt.Sprintf("volume-%d", len(spec.Volumes))
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: volume, VolumeSource: source})
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: volume, MountPath: "/" + volume})
	}
}

// historyLimit keeps the number of old ReplicaSets, and with it what the engine has to
// remember, about the same from the beginning to the end.
const historyLimit = 1

// object is the workload as it is to be created.
func (d *workload) object() (*unstructured.Unstructured, error) {
	var typed any
	switch d.kind {
	case "Deployment":
		typed = d.deployment()
	case "StatefulSet":
		typed = d.statefulSet()
	case "DaemonSet":
		typed = d.daemonSet()
	default:
		typed = d.gadget()
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(d.kind))
	if d.kind == gadgetKind {
		object.SetGroupVersionKind(gadgets.GroupVersion().WithKind(d.kind))
	}
	return object, nil
}

func (d *workload) deployment() *appsv1.Deployment {
	strategy := appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	if !d.recreate {
		strategy = appsv1.DeploymentStrategy{
			Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: new(intstr.FromInt(d.surge)), MaxUnavailable: new(intstr.FromInt(d.missing)),
			},
		}
	}
	return &appsv1.Deployment{ObjectMeta: d.meta(), Spec: appsv1.DeploymentSpec{
		Replicas: &d.replicas, Selector: d.selector(), Template: d.template(), Paused: d.paused,
		Strategy: strategy, RevisionHistoryLimit: new(int32(historyLimit)),
	}}
}

func (d *workload) statefulSet() *appsv1.StatefulSet {
	spec := appsv1.StatefulSetSpec{
		Replicas: &d.replicas, Selector: d.selector(), Template: d.template(), ServiceName: d.name,
		RevisionHistoryLimit: new(int32(historyLimit)),
	}
	if d.evicts && d.steady {
		spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
	}
	return &appsv1.StatefulSet{ObjectMeta: d.meta(), Spec: spec}
}

func (d *workload) daemonSet() *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: d.meta(), Spec: appsv1.DaemonSetSpec{
		Selector: d.selector(), Template: d.template(), RevisionHistoryLimit: new(int32(historyLimit)),
	}}
}
