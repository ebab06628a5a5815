package decide

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// stage is where a story happens: what there is in the cluster, and a controller that watches it.
type stage struct {
	*story
	t         rapid.TB
	readers   []string                                 // as the lines say
	told      []step                                   // what a simulation let happen
	check     func(pods []*corev1.Pod, meaning string) // of each decision
	now       float64
	configs   map[string]*corev1.ConfigMap
	former    map[string]*corev1.ConfigMap // before the last edit
	mounts    map[types.UID]content.CSIMount
	timestamp string // of the last restart
	decided   catalog.View
	isOut     bool // the Deployment has not opted in
	isJoined  bool // all edits of a config but the last
	isAway    bool // the controller
	behind    map[string][]func()
}

func newStage(t rapid.TB, readers ...string) *stage {
	d := objecttest.Deployment(corev1.Container{})
	d.Spec.Template.Spec.Containers = nil
	s := &stage{
		story: begin(d), t: t, configs: map[string]*corev1.ConfigMap{}, former: map[string]*corev1.ConfigMap{},
		mounts: map[types.UID]content.CSIMount{}, behind: map[string][]func(){},
	}
	for _, line := range readers {
		s.addReader(line)
	}
	return s
}

// addReader adds what a container reads or mounts, as a line says.
func (s *stage) addReader(line string) {
	s.readers = append(s.readers, line)
	spec, channel := &s.deployment.Spec.Template.Spec, strings.Fields(line)[1]
	name, list, isReader := strings.Cut(line, " "+channel+" ")
	all := &spec.Containers
	if strings.HasPrefix(name, "init") {
		all = &spec.InitContainers
	}
	if !isReader || !slices.Contains([]string{"reads", "mounts", "sets"}, channel) {
		s.t.Fatalf("no container reads anything: %s", line)
	}
	i := slices.IndexFunc(*all, func(c corev1.Container) bool { return c.Name == name })
	if i < 0 {
		i, *all = len(*all), append(*all, corev1.Container{Name: name})
	}
	for config := range strings.SplitSeq(list, ", ") {
		s.addSource(&(*all)[i], channel, config)
	}
}

func (s *stage) addSource(c *corev1.Container, channel, config string) {
	config, isOptional := strings.CutSuffix(config, "?")
	config, key, _ := strings.Cut(config, ":")
	secret, isSecret := strings.CutPrefix(config, "secret/")
	switch {
	case channel == "sets":
		c.Env = append(c.Env, objecttest.Literal(config, "set"))
	case channel == "reads" && isSecret:
		c.EnvFrom = append(c.EnvFrom, objecttest.ReadsSecret(secret).EnvFrom...)
	case channel == "reads" && key == "":
		c.EnvFrom = append(c.EnvFrom, objecttest.ReadsAll(config, isOptional).EnvFrom...)
	case channel == "reads":
		c.Env = append(c.Env, objecttest.Taken(strings.ToUpper(config+key), config, key, isOptional))
	default:
		volumes := &s.deployment.Spec.Template.Spec.Volumes
		volume := objecttest.VolumeOf(config, isOptional)
		if config == "class" {
			volume = catalogtest.VolumeOfClass(key)
		}
		volume.Name = fmt.Sprint("v", len(*volumes))
		*volumes, c.VolumeMounts = append(*volumes, volume), append(c.VolumeMounts, corev1.VolumeMount{Name: volume.Name})
	}
}

// stepOf returns what the cells of a row do, nil if they are about a config.
func (s *stage) stepOf(label string) func(cell string) {
	subject, of, isOf := strings.Cut(label, " of ")
	switch {
	case label == "deployment":
		return s.writeDeployment
	case label == "record":
		return s.record
	case label == "other leader":
		return s.actElsewhere
	case label == "leader":
		return s.changeLeader
	case label == "edits":
		return func(string) { s.isJoined = true }
	case isOf && subject == "watch":
		return func(cell string) { s.watch(of, cell) }
	case isOf && subject == "files":
		return func(cell string) { s.mount(types.UID(of), cell) }
	}
	return nil
}

// dated returns a cell without its date, and the date by the API server's clock.
func (s *stage) dated(cell string) (string, time.Time) {
	cell, date, isDated := strings.Cut(cell, "@")
	seconds := s.now
	if isDated {
		seconds = s.number(date)
	}
	return cell, objecttest.NoonPlus(seconds).Truncate(time.Second)
}

func (s *stage) number(text string) float64 {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return number
}

// show lets a watch show something, now or when it catches up.
func (s *stage) show(watch string, what func()) {
	queue, isBehind := s.behind[watch]
	switch {
	case isBehind:
		s.behind[watch] = append(queue, what)
	case !s.isAway && s.catalog != nil:
		what()
	}
}

// start lets a controller begin that lists what there is.
func (s *stage) start() {
	s.catalog, s.isAway = catalog.New(), false
	clear(s.behind)
	s.catalog.SetKey(catalogtest.TestKey)
	s.listMounts(s.now, slices.Collect(maps.Values(s.mounts))...)
	s.listConfigs(true)
	var workloads []*workload.Workload
	if !s.isOut {
		workloads = objecttest.ListOf(s.reduced())
	}
	listWorkloads(s.catalog, names.Deployment, "", workloads, 0)
}

func (s *stage) listConfigs(first bool) {
	for _, kind := range []names.ConfigKind{names.ConfigMap, names.Secret} {
		var all []*content.Config
		for _, name := range slices.Sorted(maps.Keys(s.configs)) {
			if config := s.reducedConfig(name); config.Ref.Kind == kind {
				all = append(all, &config)
			}
		}
		listConfigs(s.catalog, kind, "", all, objecttest.NoonPlus(s.now), first)
	}
}

// reducedConfig reduces a config as the watch does.
func (s *stage) reducedConfig(name string) content.Config {
	cm := s.configs[name]
	if isSecret(name) {
		secret := objecttest.Secret(cm.Name, cm.Data)
		secret.ObjectMeta = cm.ObjectMeta
		return content.NewSecret(secret)
	}
	return reducedConfigMap(cm)
}

func isSecret(name string) bool { return strings.HasPrefix(name, "secret/") }

func (s *stage) changeLeader(cell string) {
	switch cell {
	case "stops":
		s.isAway = true
	case "starts", "replaced":
		s.start()
	case "late":
		present := s.configs
		s.configs = s.former
		s.start()
		s.configs = present
		s.watch("configs", "behind")
		for _, name := range slices.Sorted(maps.Keys(present)) {
			s.showConfig(name)
		}
	default:
		s.t.Fatalf("the leader %s", cell)
	}
}

func (s *stage) watch(of, cell string) {
	queue := s.behind[of]
	switch {
	case cell == "behind":
		s.behind[of] = nil
		return
	case cell == "shows":
		for _, show := range queue {
			show()
		}
	case cell == "lists" && of == "configs":
		s.listConfigs(false)
	case cell == "lists" && of == "files":
		s.listMounts(s.now, slices.Collect(maps.Values(s.mounts))...)
	case cell == "lists" && of == "deployments":
		listWorkloads(s.catalog, names.Deployment, "", objecttest.ListOf(s.reduced()), s.shown)
	case cell == "up-to-date":
		s.shown = s.catalog.Sequence()
	default:
		s.t.Fatalf("the watch of %s %s", of, cell)
	}
	delete(s.behind, of)
}

// writeConfig is one write of a ConfigMap. Each key has its own field manager.
func (s *stage) writeConfig(name string, cells map[string]string) {
	if cells[""] == "deleted" {
		ref := s.reducedConfig(name).Ref
		delete(s.configs, name)
		s.show("configs", func() { s.catalog.ForgetConfig(ref, objecttest.NoonPlus(s.now)) })
		return
	}
	cm := s.configs[name].DeepCopy()
	isNew := cm == nil
	if cells[""] == "" {
		s.former[name] = s.configs[name]
	}
	if isNew {
		delete(s.former, name)
		cm = objecttest.ConfigMap(name, objecttest.Data{})
		if namespace, rest, isElsewhere := strings.Cut(name, "/"); isElsewhere {
			cm.Name = rest
			if !isSecret(name) {
				cm.Namespace = namespace
			}
		}
		cm.CreationTimestamp.Time = objecttest.NoonPlus(s.now).Truncate(time.Second)
	}
	for label, cell := range cells {
		key, isBinary := strings.CutSuffix(label, " binary")
		value, at := s.dated(cell)
		if key == "" {
			cm.Annotations = objecttest.Data{}
			for state := range strings.SplitSeq(value, ";") {
				maps.Copy(cm.Annotations, states[state])
			}
			continue
		}
		setKey(cm, key, value, isBinary)
		if isNew {
			cm.CreationTimestamp.Time = at
		} else if value != "-" {
			cm.ManagedFields = append(cm.ManagedFields, objecttest.Owns("editor of "+key, at, map[bool]string{false: "f:data/f:", true: "f:binaryData/f:"}[isBinary]+key))
		}
	}
	s.configs[name] = cm
	s.showConfig(name)
}

// states are annotations of a ConfigMap.
var states = map[string]objecttest.Data{
	"ignored": {annotation.IgnoreAnnotation: "true"}, "marked": {dialect.ReloaderMatch: "true"}, "shared": {annotation.ReadersAnnotation: "n?"},
}

func (s *stage) showConfig(name string) {
	config := s.reducedConfig(name)
	s.show("configs", func() {
		if s.catalog.ObserveConfig(config, objecttest.NoonPlus(s.now)); s.isJoined {
			joinEdits(s.catalog, config.Ref, 1)
		}
	})
}

func setKey(cm *corev1.ConfigMap, key, value string, isBinary bool) {
	cm.ManagedFields = slices.DeleteFunc(cm.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == "editor of "+key })
	switch {
	case value == "-" && isBinary:
		delete(cm.BinaryData, key)
	case value == "-":
		delete(cm.Data, key)
	case isBinary:
		delete(cm.Data, key)
		cm.BinaryData = map[string][]byte{key: []byte(value)}
	default:
		delete(cm.BinaryData, key)
		cm.Data[key] = value
	}
}

// mount shows the versions that the driver has mounted in a pod.
func (s *stage) mount(pod types.UID, cell string) {
	version, at := s.dated(cell)
	m := catalogtest.MountIn(pod, version)
	if _, found := s.mounts[pod]; found {
		m = rotatedIn(pod, at.Sub(objecttest.Noon).Seconds(), version)
	}
	if s.mounts[pod] = m; version == "gone" {
		delete(s.mounts, pod)
		s.show("files", func() { s.catalog.ForgetMount(m) })
		return
	}
	s.show("files", func() { s.mounted(m, s.now) })
}

func (s *stage) showDeployment() {
	w, isOut := s.reduced(), s.isOut
	s.show("deployments", func() {
		if isOut {
			s.catalog.ForgetWorkload(w.Ref)
		} else {
			s.catalog.ObserveWorkload(w)
		}
	})
}

// writeDeployment is one write of the Deployment.
func (s *stage) writeDeployment(cell string) {
	changes, at := s.dated(cell)
	for change := range strings.SplitSeq(changes, ";") {
		name, value, _ := strings.Cut(change, "=")
		s.changeDeployment(name, value, at)
	}
	s.showDeployment()
}

func (s *stage) changeDeployment(name, value string, at time.Time) {
	d := s.deployment
	switch name {
	case "opts-in":
		s.isOut = false
		d.ManagedFields[0] = objecttest.Owns("kubectl", at, objecttest.AnnotationField(annotation.EnabledAnnotation))
	case "out":
		s.isOut = true
	case "undated":
		d.ManagedFields = nil
	case "image":
		d.Spec.Template.Spec.Containers[0].Image = value
	case "replicas":
		d.Spec.Replicas = objecttest.Pointer(int32(s.number(value)))
	case "timestamp":
		if value == "last" {
			value = s.timestamp
		}
		objecttest.SetTimestamp(d, value)
	case "deleting":
		d.DeletionTimestamp = objecttest.Stamp(at)
	default:
		s.annotate(name, value)
	}
}

// annotate changes the annotations of the Deployment.
func (s *stage) annotate(change, value string) {
	d := s.deployment
	names := map[string]string{
		"only": annotation.OnlyAnnotation, "ignore": annotation.IgnoreAnnotation, "also": annotation.AlsoAnnotation,
		"search": dialect.ReloaderSearch, "named": objecttest.ConfigMapNamed,
	}
	switch {
	case change == "undone":
		s.strip(annotation.ChecksumsAnnotation, annotation.BasisAnnotation)
		objecttest.SetTimestamp(d, "")
	case change == "stripped":
		s.strip(annotation.ChecksumsAnnotation, annotation.BasisAnnotation)
	case change == "basis-stripped":
		s.strip(annotation.BasisAnnotation)
	case change == "crowded":
		taken := len(annotation.EnabledAnnotation) + len(annotation.Enabled) + len("note") + record.EntrySize(objecttest.ConfigMapRef("b"))
		d.Annotations["note"] = strings.Repeat("x", record.AnnotationsLimit-record.AnnotationsReserve-taken)
	case change == "evicts":
		d.Annotations[annotation.MethodAnnotation] = string(policy.ByEviction)
	case change == "rolls":
		delete(d.Annotations, annotation.MethodAnnotation)
	case names[change] == "":
		s.t.Fatalf("the Deployment: %s", change)
	case value == "":
		delete(d.Annotations, names[change])
	default:
		d.Annotations[names[change]] = value
	}
}

// record is what the controller does at that time.
func (s *stage) record(cell string) {
	view, _ := s.catalog.View(objecttest.DeploymentRef("web"))
	switch cell {
	case "made":
		s.recorded(s.now)
	case "restart":
		if view.Workload.Method() == policy.ByEviction {
			s.write(s.t, Restart, s.now, s.now)
			return
		}
		s.restart(s.now)
		s.timestamp = annotation.TimestampOf(&s.deployment.Spec.Template)
	case "mark", "put-off":
		decision := s.outcome() // of no pods, which the contradiction does not depend on
		since := decision.PutOff(objecttest.NoonPlus(s.now))
		if decision.Unseen {
			s.catalog.ObserveContradicted(view, since)
		}
		if cell == "mark" {
			s.marked(s.t, since, decision.Unseen)
		}
	case "decided":
		s.decided = view
	case "answered": // with what was decided then
		decision := Decide(s.decided)
		catalogtest.WriteRecordWithout(s.deployment, decision.Checksums, decision.Without, objecttest.NoonPlus(s.now))
		s.catalog.ObserveWritten(s.reduced(), s.decided.Sequence)
	case "verified":
		s.catalog.ObserveKept(view)
	case "replaced":
		s.catalog.ObserveReplaced(view.Workload)
	case "original":
		var objects []metav1.Object
		for _, cm := range s.configs {
			objects = append(objects, cm)
		}
		recordByOriginal(s.deployment, s.now, objects...)
	default:
		s.t.Fatalf("the record is %s", cell)
	}
}

// actElsewhere is what another process does that sees all there is.
func (s *stage) actElsewhere(cell string) {
	elsewhere := newStage(s.t)
	elsewhere.deployment, elsewhere.configs, elsewhere.now = s.deployment, s.configs, s.now
	elsewhere.start()
	switch cell {
	case "restarts":
		elsewhere.restartedElsewhere(s.now)
	case "records":
		elsewhere.recordedElsewhere(s.now)
	case "marks", "marks-unseen":
		elsewhere.marked(s.t, objecttest.NoonPlus(s.now), cell == "marks-unseen")
	default:
		s.t.Fatalf("the other leader %s", cell)
	}
	s.showDeployment()
}

// Pods.

func isPods(label string) bool {
	name, _, _ := strings.Cut(label, " of ")
	return slices.Contains([]string{"pod", "pods", "no pods", "one pod", "pending pod", "exposed"}, name)
}

// pods returns the pods of a row: all, or that of one column.
func (d *drawing) pods(s *stage, row *row, column int) (pods []*corev1.Pod) {
	if row.label == "pending pod" {
		return []*corev1.Pod{{}}
	}
	var one *corev1.Pod
	for i, cell := range row.cells {
		at := d.seconds[i]
		switch {
		case cell == "" || column >= 0 && column != i:
		case row.label != "one pod":
			pods = append(pods, podOf(s.deployment, at, func(string) float64 { return at }))
		case one == nil:
			one = podOf(s.deployment, at, func(container string) float64 { return d.startOf(row, container) })
			pods = append(pods, one)
		}
	}
	if _, uid, isOf := strings.Cut(row.label, " of "); isOf {
		pods[0].UID = types.UID(uid)
	}
	return pods
}

// startOf returns when a container of a pod starts, negative if it does not.
func (d *drawing) startOf(row *row, container string) float64 {
	if column := slices.Index(row.cells, container); column >= 0 {
		return d.seconds[column]
	}
	return -1
}

// podOf is a pod of a Deployment that was created at a time, and whose containers start at others.
func podOf(d *appsv1.Deployment, created float64, start func(container string) float64) *corev1.Pod {
	pod := podSince(created, created)
	pod.CreationTimestamp.Time, pod.Status.ContainerStatuses = objecttest.NoonPlus(created).Truncate(time.Second), nil
	for _, c := range d.Spec.Template.Spec.InitContainers {
		pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, corev1.ContainerStatus{Name: c.Name, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.Time{Time: objecttest.NoonPlus(start(c.Name))}},
		}})
	}
	for _, c := range d.Spec.Template.Spec.Containers {
		status := corev1.ContainerStatus{Name: c.Name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "x"}}}
		if at := start(c.Name); at >= 0 {
			status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Time{Time: objecttest.NoonPlus(at)}}}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	}
	return pod
}

// decide decides as the controller does.
func (s *stage) decide(pods ...*corev1.Pod) (Decision, string) {
	view, found := s.catalog.View(objecttest.DeploymentRef("web"))
	if !found {
		s.t.Fatal("the workload is not in the catalog")
	}
	decision := Decide(view)
	if decision.Outcome == AskConfigs {
		asked := UnsettledByOriginal(&view)
		view.Originals = map[names.ConfigRef]names.Checksum{}
		for _, ref := range asked {
			digest, err := record.OriginalDigest(s.configs[ref.Name])
			if err != nil {
				s.t.Fatal(err)
			}
			view.Originals[ref] = digest
		}
		decision = Decide(view)
	}
	by := ""
	if decision.Outcome == AskPods {
		by = ", by the pods"
		var reduced []Pod
		for _, pod := range pods {
			p, _ := NewPod(pod, view.Workload.Readers())
			p.UID = pod.UID
			reduced = append(reduced, p)
		}
		decision = ByPods(view, reduced)
	}
	meaning := meaningOf(&decision, by)
	if s.check != nil {
		s.check(pods, meaning)
	}
	return decision, meaning
}

// meaningOf says what is decided, and by what.
func meaningOf(decision *Decision, by string) string {
	meaning := fmt.Sprintf("%s%s: %s", decision.Outcome, by, decision.Reason)
	for _, cause := range decision.Causes {
		meaning += "; " + strings.TrimSuffix(cause.Config.NameWithin()+": "+strings.Join(cause.Keys, ", "), ": ")
		if cause.Unnamed && len(cause.Keys) > 0 {
			meaning += " and others"
		}
	}
	if decision.Contradicts {
		meaning += "; contradicted"
		if at := decision.Contradicted; !at.IsZero() {
			meaning += fmt.Sprint(" since ", at.Sub(objecttest.Noon).Seconds())
		}
	}
	return meaning
}
