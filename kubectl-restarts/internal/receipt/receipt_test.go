package receipt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/policy"
	"kubernetes-deployment-restart-controller/catalog/record"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/overview"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/receipt"
)

// edit is when the configs were edited.
var edit = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// at returns a time relative to the edit. The API cuts it to seconds.
func at(seconds int) metav1.Time {
	return metav1.NewTime(edit.Add(time.Duration(seconds) * time.Second))
}

var (
	secretRef    = names.ConfigRef{Kind: names.Secret, Namespace: "shop", Name: "db"}
	configMapRef = names.ConfigRef{Kind: names.ConfigMap, Namespace: "shop", Name: "settings"}
)

// meta is that of a config that was created an hour before, with a manager for each key that has written it at a time.
func meta(ref names.ConfigRef, written map[string]metav1.Time) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name, UID: types.UID(ref.Name), ResourceVersion: "9", CreationTimestamp: at(-3600)}
	for key, time := range written {
		m.ManagedFields = append(m.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: "editor-of-" + key, Operation: metav1.ManagedFieldsOperationUpdate, Time: &time,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(`{"f:data":{"f:%s":{}}}`, key)),
		})
	}
	return m
}

// secret returns a Secret whose key a was edited, and whose key b was there from the start.
func secret(adjust ...func(*corev1.Secret)) receipt.Content {
	object := &corev1.Secret{ObjectMeta: meta(secretRef, map[string]metav1.Time{"a": at(0), "b": at(-3600)}), Data: map[string][]byte{"a": []byte("swordfish"), "b": []byte("marlin")}}
	for _, f := range adjust {
		f(object)
	}
	return receipt.NewContent(content.NewSecret(object), object, false)
}

// configMap is the same as a ConfigMap.
func configMap(adjust ...func(*corev1.ConfigMap)) receipt.Content {
	object := &corev1.ConfigMap{ObjectMeta: meta(configMapRef, map[string]metav1.Time{"a": at(0), "b": at(-3600)}), Data: map[string]string{"a": "new", "b": "marlin"}}
	for _, f := range adjust {
		f(object)
	}
	return receipt.NewContent(content.NewConfigMap(object), object, false)
}

// pod returns a pod of the ReplicaSet of a Deployment, of which a container reads all of the Secret. It was created at a time, and its
// container started two seconds later.
func pod(created int, adjust ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-5d4c8bb5f9-" + fmt.Sprint(created), CreationTimestamp: at(created), Labels: map[string]string{"pod-template-hash": "5d4c8bb5f9"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-5d4c8bb5f9", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}}}}}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: new(at(created)),
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(created + 2)}}}},
		},
	}
	for _, f := range adjust {
		f(p)
	}
	return p
}

// startedAt makes the container one that started again.
func startedAt(seconds int) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Running.StartedAt = at(seconds) }
}

func leaving(p *corev1.Pod) { p.DeletionTimestamp = new(at(5)) }

func owned(kind, name string, labels ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Labels = nil
		if len(labels) > 0 {
			p.Labels = map[string]string{labels[0]: labels[1]}
		}
		p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: new(true)}}
	}
}

// ownedBy is owned with an API version.
func ownedBy(version, kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		owned(kind, name)(p)
		p.OwnerReferences[0].APIVersion = version
	}
}

func bare(p *corev1.Pod) { p.OwnerReferences, p.Name = nil, "debug" }

// reads makes the pod read something else.
func reads(from ...corev1.EnvFromSource) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].EnvFrom = from }
}

func readsKey(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].EnvFrom = nil
		p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "X", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}, Key: key}}}}
	}
}

var readsConfigMap = reads(corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}})

func mounts(p *corev1.Pod) {
	p.Spec.Containers[0].EnvFrom = nil
	p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/v"}}
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "db"}}}}
}

// web returns the enabled Deployment of the pods, whose pods all run, with a record from before the edit.
func web(adjust ...func(*facts.Workload)) facts.Workload {
	w := facts.Workload{Enabled: true, Workload: workload.Workload{
		Object: workload.Object{
			Ref: names.WorkloadRef{Kind: names.Deployment, Namespace: "shop", Name: "web"}, ResourceVersion: "7",
			References: []template.Reference{{Config: configMapRef, Container: "main"}, {Config: secretRef, Container: "main"}},
			Rollout:    workload.Rollout{Wanted: 1, Updated: 1, Available: 1, Observed: true},
		},
		Record: record.Record{Trusted: true, Written: edit.Add(-30 * time.Minute)},
	}}
	for _, f := range adjust {
		f(&w)
	}
	return w
}

func notEnabled(w *facts.Workload) { w.Enabled = false }
func outdated(w *facts.Workload)   { w.Rollout.Outdated = 1 }
func ignoresAll(w *facts.Workload) { w.References = nil }
func ignoresA(w *facts.Workload)   { w.References[1].Keys = template.Selection{Names: []string{"b"}} }
func paused(w *facts.Workload)     { w.Hold = workload.Paused }
func readsByAPI(w *facts.Workload) {
	w.References[1].Channel, w.References[1].Container = template.API, ""
}
func doubted(w *facts.Workload)         { w.Enabled, w.EnabledUnknown = false, true }
func madeWithRestart(w *facts.Workload) { w.Record.WithRestart = true }

func named(kind names.WorkloadKind, name string) func(*facts.Workload) {
	return func(w *facts.Workload) { w.Ref.Kind, w.Ref.Name = kind, name }
}

// recorded makes the record have this content of the ConfigMap.
func recorded(c receipt.Content) func(*facts.Workload) {
	return func(w *facts.Workload) {
		w.Record.Checksums = record.Checksums{c.Ref: c.Checksum([]template.Selection{{}}, content.ChecksumKey{})}
	}
}

func restarted(seconds int) func(*facts.Workload) {
	return func(w *facts.Workload) { w.Timestamp = at(seconds).Format(time.RFC3339Nano) }
}

// cluster is how the workloads stand by what the cluster shows, with rows for those that are not settled.
func cluster(rows ...overview.Row) *overview.Report { return &overview.Report{Workloads: rows} }

func row(state overview.State) overview.Row {
	return overview.Row{Namespace: "shop", Workload: "deployment/web", State: state, Why: "so it is"}
}

// leader is the same by what the leader says.
func leader(adjust func(*status.Overview)) *overview.Report {
	o := &status.Overview{Leads: true}
	adjust(o)
	return &overview.Report{Leader: &overview.FromLeader{Name: "leader", Overview: o}}
}

func settled(*status.Overview) {}

func list(state status.State) status.List[status.Entry] {
	return status.List[status.Entry]{Total: 1, Items: []status.Entry{{Workload: "deployment/shop/web", State: state, Text: "so it is"}}}
}

// input is what a caller sees who may see everything.
func input(c receipt.Content, stand *overview.Report, w facts.Workload, pods ...*corev1.Pod) *receipt.Input {
	in := &receipt.Input{Contents: []receipt.Content{c}, Workloads: []facts.Workload{w}, Overviews: map[string]*overview.Report{"shop": stand}}
	in.Leader = func(ref names.WorkloadRef) *status.Workload { return vouching(in, ref) }
	take(in, pods...)
	return in
}

// vouching is what a leader says of a workload that has seen everything as it is, and finds that nothing is due.
func vouching(in *receipt.Input, ref names.WorkloadRef) *status.Workload {
	w := &status.Workload{Entry: status.Entry{Workload: ref.String(), State: status.Settled}, ResourceVersion: "7", Decision: status.Decision{Outcome: "keep"}}
	for i := range in.Contents {
		w.Reads.Items = append(w.Reads.Items, status.Seen{Config: in.Contents[i].Ref.String(), Exists: new(true), ResourceVersion: "9"})
	}
	w.Reads.Total = len(w.Reads.Items)
	return w
}

func take(in *receipt.Input, pods ...*corev1.Pod) {
	asked := make(map[names.ConfigRef]bool)
	for i := range in.Contents {
		asked[in.Contents[i].Ref] = true
	}
	for _, p := range pods {
		if reduced, runs := receipt.NewPod(p, asked); runs {
			in.Pods = append(in.Pods, reduced)
		}
	}
}

// only judges what one reader becomes.
func only(t *testing.T, in *receipt.Input) receipt.Reader {
	t.Helper()
	found := receipt.Judge(in)
	if len(found.Readers) != 1 {
		t.Fatalf("the readers are %+v, want one", found.Readers)
	}
	return found.Readers[0]
}

func TestDatesShowWhichPodsMayHaveReadAnEarlierContent(t *testing.T) {
	recreated := func(created int) func(*corev1.Secret) {
		return func(s *corev1.Secret) {
			s.CreationTimestamp = at(created)
			s.ManagedFields[0].Time, s.ManagedFields[1].Time = new(at(created)), new(at(created))
		}
	}
	optional := reads(corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "db"}, Optional: new(true)}})
	many := func(p *corev1.Pod) { // only the first and the last start of so many containers are kept
		for i := range 9 {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: fmt.Sprint("c", i), EnvFrom: p.Spec.Containers[0].EnvFrom})
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: fmt.Sprint("c", i), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at(30)}}})
		}
	}
	for name, test := range map[string]struct {
		content receipt.Content
		pod     *corev1.Pod
		isLeft  bool
	}{
		"created before":                     {secret(), pod(-60), true},
		"created in the same second":         {secret(), pod(0, startedAt(1)), true},
		"created a second later":             {secret(), pod(1, startedAt(0)), false}, // a node's clock may be late
		"created before, started long after": {secret(), pod(-60, startedAt(30)), false},
		"started just beyond the tolerance":  {secret(), pod(-60, startedAt(2)), false},
		"started within the tolerance":       {secret(), pod(-60, startedAt(1)), true},
		"its volume was mounted before":      {secret(), pod(-60, startedAt(30), mounts), true}, // another container may have read the files
		"its volume was mounted after":       {secret(), pod(1, mounts), false},
		"its volume is not mounted yet":      {secret(), pod(-60, mounts, func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending} }), false},
		"its container has not started":      {secret(), pod(-60, func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }), false},
		"its container waits for its restart": {secret(), pod(-60, func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
		}), false},
		"one of many containers": {secret(), pod(-60, many), true},
		"all of many containers": {secret(), pod(-60, many, startedAt(30)), false},
		"an init container": {secret(), pod(-60, func(p *corev1.Pod) {
			p.Spec.InitContainers, p.Spec.Containers = p.Spec.Containers, []corev1.Container{{Name: "other"}}
			p.Status.InitContainerStatuses, p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: at(-58)}}}}, nil
		}), true},
		"it sees the key":                     {secret(), pod(-60, readsKey("a")), true},
		"it sees another key":                 {secret(), pod(-60, readsKey("b")), false},
		"it sees a key that is not there":     {secret(), pod(-60, readsKey("c")), false},
		"it terminates":                       {secret(), pod(-60, leaving), true},
		"recreated after":                     {secret(recreated(0)), pod(-60), true},
		"recreated before":                    {secret(recreated(-90)), pod(-60), false},
		"optional, appeared after":            {secret(recreated(0)), pod(-60, optional), true},
		"optional, appeared after, a restart": {secret(recreated(0)), pod(-60, optional, startedAt(30)), false},
		"created with its config":             {secret(recreated(0)), pod(0), false}, // as by one kubectl apply
	} {
		t.Run(name, func(t *testing.T) {
			reader := only(t, input(test.content, cluster(), web(), test.pod))
			if (reader.Left == 1) != test.isLeft || reader.Pods != 1 || (reader.Verdict == receipt.Delivered) == test.isLeft {
				t.Errorf("%+v, want left: %t", reader, test.isLeft)
			}
		})
	}
}

func TestPodsThatHaveFinishedOrReadSomethingElseDoNotCount(t *testing.T) {
	finished := func(phase corev1.PodPhase) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.Phase = phase }
	}
	elsewhere := func(p *corev1.Pod) { p.Namespace = "office" }
	in := input(secret(), cluster(), web(), pod(-60, finished(corev1.PodSucceeded)), pod(-60, finished(corev1.PodFailed)), pod(-60, reads()), pod(-60, readsConfigMap), pod(-60, elsewhere))
	if found := receipt.Judge(in); len(found.Readers) != 0 || found.Pods != 0 || found.Readers == nil {
		t.Errorf("%+v", found)
	}
}

func TestAWorkloadSaysWhatItsPodsReadThroughTheAPI(t *testing.T) {
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		left int
	}{
		"started before":  {pod(-60, reads()), 1},
		"started after":   {pod(-60, reads(), startedAt(30)), 0},
		"not started yet": {pod(-60, reads(), func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }), 0},
	} {
		if reader := only(t, input(secret(), cluster(), web(readsByAPI), test.pod)); reader.Left != test.left || reader.Pods != 1 {
			t.Errorf("%s: %+v", name, reader)
		}
	}
	// Those of other namespaces read it by the name that it has there.
	shared := secret(func(s *corev1.Secret) {
		s.Annotations = map[string]string{"com.xing.deployment-restart.readers": "office"}
	})
	in := input(shared, cluster(), web(readsByAPI, func(w *facts.Workload) {
		w.Ref.Namespace, w.References = "office", []template.Reference{{Config: secretRef.SharedIn("office"), Channel: template.API}}
	}), pod(-60, reads(), func(p *corev1.Pod) { p.Namespace = "office" }))
	in.Overviews = map[string]*overview.Report{"": cluster()}
	if reader := only(t, in); reader.Left != 1 || reader.Namespace != "office" || reader.Verdict != receipt.Waits {
		t.Errorf("of another namespace: %+v", reader)
	}
	in.Contents[0] = secret()
	if found := receipt.Judge(in); len(found.Readers) != 0 {
		t.Errorf("of another namespace that it is not shared with: %+v", found)
	}
}

// The record has it by the name that it has there.
func TestARecordOfASharedConfigMapCounts(t *testing.T) {
	shared := configMap(func(c *corev1.ConfigMap) {
		c.Annotations = map[string]string{"com.xing.deployment-restart.readers": "office"}
	})
	ref := configMapRef.SharedIn("office")
	for checksum, want := range map[names.Checksum]receipt.Verdict{shared.Checksum([]template.Selection{{}}, content.ChecksumKey{}): receipt.Delivered, 1: receipt.Waits} {
		in := input(shared, cluster(), web(func(w *facts.Workload) {
			w.Ref.Namespace, w.References = "office", []template.Reference{{Config: ref, Channel: template.API}}
			w.Record.Checksums = record.Checksums{ref: checksum}
		}), pod(-3000, reads(), func(p *corev1.Pod) { p.Namespace = "office" }))
		in.Overviews = map[string]*overview.Report{"": cluster()}
		if reader := only(t, in); reader.Verdict != want {
			t.Errorf("%+v, want %s", reader, want)
		}
	}
}

func TestWhoOwnsAPodSaysWhetherItRestarts(t *testing.T) {
	const restart = "kubectl rollout restart -n shop "
	for name, test := range map[string]struct {
		workload facts.Workload
		pod      *corev1.Pod
		name     string
		verdict  receipt.Verdict
		why      string
		remedy   string
	}{
		"an enabled Deployment":             {web(), pod(-60), "deployment/web", receipt.Waits, "nothing shows yet", ""},
		"an enabled StatefulSet":            {web(named(names.StatefulSet, "db")), pod(-60, owned("StatefulSet", "db")), "statefulset/db", receipt.Waits, "nothing shows yet", ""},
		"an enabled DaemonSet":              {web(named(names.DaemonSet, "agent")), pod(-60, owned("DaemonSet", "agent")), "daemonset/agent", receipt.Waits, "nothing shows yet", ""},
		"one that is not enabled":           {web(notEnabled), pod(-60), "deployment/web", receipt.Stays, "annotation", restart + "deployment/web"},
		"one that may be enabled":           {web(doubted), pod(-60), "deployment/web", receipt.Waits, "you may not read what enables it", ""},
		"one that ignores the config":       {web(ignoresAll), pod(-60), "deployment/web", receipt.Stays, "it does not restart for what has changed in secret/db", restart + "deployment/web"},
		"one that ignores the key":          {web(ignoresA), pod(-60), "deployment/web", receipt.Stays, "it does not restart for what has changed in secret/db", restart + "deployment/web"},
		"one that somebody else restarts":   {web(ignoresAll, outdated), pod(-60), "deployment/web", receipt.Waits, "pods of an earlier template are left", ""},
		"a paused one":                      {web(paused), pod(-60), "deployment/web", receipt.Stays, "it is paused: the pods restart when it is resumed", "kubectl restarts explain -n shop deployment/web"},
		"a Job":                             {web(), pod(-60, owned("Job", "nightly")), "job/nightly", receipt.Waits, "until its Job ends", ""},
		"a Job named like the workload":     {web(named("jobbers.example.com", "web")), pod(-60, owned("Job", "web")), "job/web", receipt.Waits, "until its Job ends", ""},
		"nobody":                            {web(), pod(-60, bare), "pod/debug", receipt.Stays, "no controller owns", "kubectl delete -n shop pod/debug"},
		"an unknown kind":                   {web(), pod(-60, owned("Widget", "w")), "widget/w", receipt.Stays, "no workload that the controller knows", ""},
		"a ReplicaSet of its own":           {web(), pod(-60, owned("ReplicaSet", "web-frontend")), "replicaset/web-frontend", receipt.Stays, "no workload that the controller knows", ""},
		"a ReplicaSet of the same name":     {web(), pod(-60, owned("ReplicaSet", "web")), "replicaset/web", receipt.Stays, "no workload that the controller knows", ""},
		"a custom kind":                     {web(named("clonesets.apps.kruise.io", "web")), pod(-60, ownedBy("apps.kruise.io/v1alpha1", "CloneSet", "web")), "clonesets.apps.kruise.io/web", receipt.Waits, "nothing shows yet", ""},
		"a custom kind with ReplicaSets":    {web(named("rollouts.argoproj.io", "web")), pod(-60, owned("ReplicaSet", "web-7", "rollouts-pod-template-hash", "7")), "rollouts.argoproj.io/web", receipt.Waits, "nothing shows yet", ""},
		"a DeploymentConfig":                {web(named("deploymentconfigs.apps.openshift.io", "web")), pod(-60, owned("ReplicationController", "web-7", "deploymentconfig", "web")), "deploymentconfigs.apps.openshift.io/web", receipt.Waits, "nothing shows yet", ""},
		"a custom kind that is not enabled": {web(named("clonesets.apps.kruise.io", "web"), notEnabled), pod(-60, ownedBy("apps.kruise.io/v1alpha1", "CloneSet", "web")), "clonesets.apps.kruise.io/web", receipt.Stays, "annotation", ""},
	} {
		t.Run(name, func(t *testing.T) {
			reader := only(t, input(secret(), cluster(), test.workload, test.pod))
			if reader.Name != test.name || reader.Verdict != test.verdict || !strings.Contains(reader.Why, test.why) || reader.Remedy != test.remedy || reader.Left != 1 {
				t.Errorf("%+v", reader)
			}
		})
	}
}

// A Deployment and a Rollout of one name may both have pods, as while one takes over from the other.
func TestADeploymentAndARolloutOfOneNameAreTwoReaders(t *testing.T) {
	in := input(secret(), cluster(), web(notEnabled), pod(-60), pod(-50, owned("ReplicaSet", "web-7", "rollouts-pod-template-hash", "7")))
	in.Workloads = append(in.Workloads, web(named("rollouts.argoproj.io", "web")))
	found := receipt.Judge(in)
	if len(found.Readers) != 2 || found.Readers[0].Verdict != receipt.Stays || found.Readers[1].Verdict != receipt.Waits || found.Left != 2 {
		t.Errorf("%+v", found)
	}
}

func TestThePodsOfAllReplicaSetsOfADeploymentAreOneReader(t *testing.T) {
	found := receipt.Judge(input(secret(), cluster(), web(outdated), pod(-60), pod(-50, leaving), pod(10, owned("ReplicaSet", "web-77", "pod-template-hash", "77"))))
	if len(found.Readers) != 1 || found.Pods != 3 || found.Left != 2 || found.Readers[0].Leaving != 1 || found.Readers[0].Verdict != receipt.Waits {
		t.Errorf("%+v", found)
	}
}

func TestHowAWorkloadStandsSaysWhetherItsPodsStay(t *testing.T) {
	same, other := configMap(), configMap(func(c *corev1.ConfigMap) { c.Data["a"] = "old" })
	cm := configMap()
	for name, test := range map[string]struct {
		content  receipt.Content
		stand    *overview.Report
		workload facts.Workload
		want     receipt.Verdict
	}{
		"held":                             {secret(), cluster(row(overview.Held)), web(), receipt.Stays},
		"on hold":                          {secret(), cluster(row(overview.OnHold)), web(), receipt.Stays},
		"lacking":                          {secret(), cluster(row(overview.Lacking)), web(), receipt.Stays},
		"left alone":                       {secret(), cluster(row(overview.LeftAlone)), web(), receipt.Stays},
		"not applied":                      {secret(), cluster(row(overview.NotApplied)), web(), receipt.Stays},
		"failed before the edit":           {secret(), cluster(row(overview.Failed)), web(restarted(-60)), receipt.Waits},
		"failed in the second of the edit": {secret(), cluster(row(overview.Failed)), web(restarted(0)), receipt.Waits},
		"failed after the edit":            {secret(), cluster(row(overview.Failed)), web(restarted(5)), receipt.Stays},
		"failed without a restart":         {secret(), cluster(row(overview.Failed)), web(), receipt.Waits},
		"rolling":                          {secret(), cluster(row(overview.Rolling)), web(restarted(5), outdated), receipt.Waits},
		"waiting":                          {secret(), cluster(row(overview.Waiting)), web(), receipt.Waits},
		"behind":                           {secret(), cluster(row(overview.Behind)), web(), receipt.Waits},
		"held, says the leader":            {secret(), leader(func(o *status.Overview) { o.Held = list(status.Held) }), web(), receipt.Stays},
		"pending, says the leader":         {secret(), leader(func(o *status.Overview) { o.Pending = list(status.Pending) }), web(), receipt.Waits},
		"retrying, says the leader":        {secret(), leader(func(o *status.Overview) { o.Retrying = list(status.Retrying) }), web(), receipt.Waits},
		"settled, says the leader":         {secret(), leader(settled), web(), receipt.Delivered},
		"settled, says a leader that is not sure": {secret(), leader(func(o *status.Overview) { o.Gaps = []status.Gap{{Text: "x"}} }), web(), receipt.Waits},
		"settled in a dry run":                    {secret(), leader(func(o *status.Overview) { o.DryRun = true }), web(), receipt.Stays},
		"cut from the list of the leader":         {secret(), leader(func(o *status.Overview) { o.Pending.Total = 1 }), web(), receipt.Waits},
		"settled, but replaced by a person":       {secret(), leader(settled), web(ignoresAll, outdated), receipt.Waits},
		"settled, but the key is ignored":         {secret(), leader(settled), web(ignoresA), receipt.Stays},
		"settled, but paused":                     {secret(), leader(settled), web(paused, outdated), receipt.Stays},
		"rolling, but paused":                     {secret(), leader(func(o *status.Overview) { o.Rolling = list(status.Rolling) }), web(paused, outdated), receipt.Stays},
		"settled, with a partition":               {secret(), leader(settled), web(func(w *facts.Workload) { w.Hold = workload.PartlyPartitioned }, outdated), receipt.Stays},
		"rolling, with a partition":               {secret(), leader(func(o *status.Overview) { o.Rolling = list(status.Rolling) }), web(func(w *facts.Workload) { w.Hold = workload.PartlyPartitioned }, outdated), receipt.Waits},
		"settled, paused, and never restarted":    {secret(), leader(settled), web(paused), receipt.Delivered},
		"settled, but its status is of before":    {secret(), leader(settled), web(func(w *facts.Workload) { w.Rollout.Observed = false }), receipt.Waits},
		"recorded":                                {cm, cluster(), web(recorded(same)), receipt.Delivered},
		"recorded with other content":             {cm, cluster(), web(recorded(other)), receipt.Waits},
		"recorded before the pods came":           {cm, cluster(), web(recorded(same), func(w *facts.Workload) { w.Record.Written = edit.Add(-2 * time.Hour) }), receipt.Waits},
		"recorded by another filter": {cm, cluster(), web(func(w *facts.Workload) {
			w.Record.Without = &record.Without{Filter: template.Filter{Ignore: "configmap/settings:a"}}
			w.Record.Checksums = record.Checksums{configMapRef: cm.Checksum(content.Selections(w.RecordedReferences(configMapRef)), content.ChecksumKey{})}
		}), receipt.Waits},
		"recorded, but not trusted":        {cm, cluster(), web(recorded(same), func(w *facts.Workload) { w.Record.Trusted = false }), receipt.Waits},
		"recorded with a restart":          {cm, cluster(), web(recorded(same), madeWithRestart), receipt.Waits},
		"recorded when eviction began":     {cm, cluster(), web(recorded(same), func(w *facts.Workload) { w.Record.Evict = 1 }), receipt.Waits},
		"recorded, but paused before that": {cm, cluster(), web(recorded(same), paused, outdated), receipt.Stays},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(-3000)
			if test.content.Ref == configMapRef {
				readsConfigMap(p)
			}
			reader := only(t, input(test.content, test.stand, test.workload, p))
			if reader.Verdict != test.want || (reader.Why == "") != (test.want == receipt.Delivered) {
				t.Errorf("%+v, want %s", reader, test.want)
			}
		})
	}
}

func TestWhatALeaderPutsOffSaysUntilWhen(t *testing.T) {
	until := edit.Add(time.Minute)
	entry := status.Entry{Workload: "deployment/shop/web", State: status.Slowed, Reason: "backoff", For: "secret/db: 1 key", Until: until}
	stand := leader(func(o *status.Overview) { o.Slowed = status.List[status.Entry]{Total: 1, Items: []status.Entry{entry}} })
	if reader := only(t, input(secret(), stand, web(), pod(-60))); reader.Why != "slowed until "+until.UTC().Format(time.RFC3339)+": its configs keep changing; secret/db: 1 key" {
		t.Errorf("%+v", reader)
	}
	entry.State, entry.Error, entry.Attempts = status.Retrying, "no", 3 // each attempt would be another line
	stand = leader(func(o *status.Overview) {
		o.Retrying = status.List[status.Entry]{Total: 1, Items: []status.Entry{entry}}
	})
	if reader := only(t, input(secret(), stand, web(), pod(-60))); !strings.HasPrefix(reader.Why, "retrying: 3 failed attempts: no;") {
		t.Errorf("%+v", reader)
	}
}

// That it lists nothing that is under way is no evidence: it may not watch the namespace or the kind of config, or be cut off.
func TestTheWordOfTheLeaderCountsOnlyForWhatItSaysItHasSeen(t *testing.T) {
	for name, test := range map[string]struct {
		says func(*status.Workload) *status.Workload
		want receipt.Verdict
	}{
		"it has seen all":                      {func(w *status.Workload) *status.Workload { return w }, receipt.Delivered},
		"it has seen a later write":            {func(w *status.Workload) *status.Workload { w.Reads.Items[0].ResourceVersion = "10"; return w }, receipt.Delivered},
		"it has seen only an earlier content":  {func(w *status.Workload) *status.Workload { w.Reads.Items[0].ResourceVersion = "8"; return w }, receipt.Waits},
		"it does not say what it has seen":     {func(w *status.Workload) *status.Workload { w.Reads.Items[0].ResourceVersion = ""; return w }, receipt.Waits},
		"it has seen only an earlier workload": {func(w *status.Workload) *status.Workload { w.ResourceVersion = "6"; return w }, receipt.Waits},
		"it does not say which workload":       {func(w *status.Workload) *status.Workload { w.ResourceVersion = ""; return w }, receipt.Waits},
		"it does not answer":                   {func(*status.Workload) *status.Workload { return nil }, receipt.Waits},
		"it knows no such workload":            {func(*status.Workload) *status.Workload { return &status.Workload{} }, receipt.Stays},
		"it knows no such config":              {func(w *status.Workload) *status.Workload { w.Reads.Items[0].Exists = new(false); return w }, receipt.Stays},
		"it does not watch such configs":       {func(w *status.Workload) *status.Workload { w.Reads.Items[0].Exists = nil; return w }, receipt.Stays},
		"it does not let the config count":     {func(w *status.Workload) *status.Workload { w.Reads.Items[0].Ignored = true; return w }, receipt.Stays},
		"it does not say that it is read":      {func(w *status.Workload) *status.Workload { w.Reads.Items[0].Config = "secret/shop/other"; return w }, receipt.Stays},
		"it does not name all that is read":    {func(w *status.Workload) *status.Workload { w.Reads.Items, w.Reads.Total = nil, 60; return w }, receipt.Waits},
		"it has decided otherwise":             {func(w *status.Workload) *status.Workload { w.Decision.Outcome = "restart"; return w }, receipt.Waits},
		"it asks the pods first":               {func(w *status.Workload) *status.Workload { w.Decision.Outcome = "ask"; return w }, receipt.Waits},
		"it has decided, and it rolls":         {func(w *status.Workload) *status.Workload { w.State = status.Rolling; return w }, receipt.Waits},
	} {
		in := input(secret(), leader(settled), web(), pod(-60))
		in.Leader = func(ref names.WorkloadRef) *status.Workload { return test.says(vouching(in, ref)) }
		if reader := only(t, in); reader.Verdict != test.want || (reader.Remedy != "") != (test.want == receipt.Stays) {
			t.Errorf("%s: %+v, want %s", name, reader, test.want)
		}
	}
	in := input(secret(), leader(settled), web(), pod(-60))
	in.Leader = nil
	if reader := only(t, in); reader.Verdict != receipt.Waits {
		t.Errorf("it is not asked: %+v", reader)
	}
	in = input(secret(), leader(settled), web(func(w *facts.Workload) { w.Deleting = true }), pod(-60))
	if reader := only(t, in); reader.Verdict != receipt.Waits {
		t.Errorf("the workload is being deleted: %+v", reader)
	}
}

func TestTheWordOfTheLeaderIsNotAboutPodsThatTerminate(t *testing.T) {
	for _, w := range []facts.Workload{web(), web(paused)} {
		found := receipt.Judge(input(secret(), leader(settled), w, pod(-60), pod(-50, leaving)))
		if reader := found.Readers[0]; reader.Verdict != receipt.Waits || reader.Left != 1 || reader.Leaving != 1 || !strings.HasPrefix(reader.Why, "they terminate, such as web-5d4c8bb5f9--50 since ") || found.Left != 1 {
			t.Errorf("%+v", found)
		}
	}
}

func TestWithoutDatesNothingIsKnownOfPodsThatStay(t *testing.T) {
	undated := secret(func(s *corev1.Secret) { s.ManagedFields = nil })
	reader := only(t, input(undated, leader(settled), web(), pod(30)))
	if reader.Verdict != receipt.Unknown || !strings.Contains(reader.Why, "managedFields of secret/db") {
		t.Errorf("%+v", reader)
	}
	if reader := only(t, input(undated, leader(settled), web(), pod(30, leaving))); reader.Verdict != receipt.Waits {
		t.Errorf("one that terminates is known to end: %+v", reader)
	}
	empty := secret(func(s *corev1.Secret) { s.ManagedFields, s.Data = nil, nil })
	if empty.Undated || !undated.Undated || secret().Undated {
		t.Error("what has no keys needs no dates")
	}
}

func TestWhoMayNotListWorkloadsDoesNotKnowWhoStays(t *testing.T) {
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		name string
		want receipt.Verdict
	}{
		"a Deployment":            {pod(-60), "deployment/web", receipt.Waits},
		"a StatefulSet":           {pod(-60, owned("StatefulSet", "db")), "statefulset/db", receipt.Waits},
		"an unknown kind":         {pod(-60, owned("Widget", "w")), "widget/w", receipt.Waits},
		"a ReplicaSet of its own": {pod(-60, owned("ReplicaSet", "web-frontend")), "replicaset/web-frontend", receipt.Waits},
		"nobody":                  {pod(-60, bare), "pod/debug", receipt.Stays},
	} {
		in := input(secret(), nil, web(), test.pod)
		in.Workloads, in.Overviews = nil, nil
		for _, in.EnabledOnly = range []bool{false, true} {
			found := receipt.Judge(in)
			if in.EnabledOnly && test.want == receipt.Stays {
				if len(found.Readers) != 0 {
					t.Errorf("%s: %+v", name, found)
				}
			} else if len(found.Readers) != 1 || found.Readers[0].Name != test.name || found.Readers[0].Verdict != test.want {
				t.Errorf("%s: %+v", name, found)
			}
		}
	}
}

func TestOnlyReadersThatRestartCountIfAskedFor(t *testing.T) {
	marked := secret(func(s *corev1.Secret) {
		s.Annotations = map[string]string{"com.xing.deployment-restart.ignore": "true"}
	})
	marked.Policy = &policy.ConfigPolicy{Ignored: true}
	for name, test := range map[string]struct {
		content  receipt.Content
		workload facts.Workload
		pods     []*corev1.Pod
		readers  int
		left     int
	}{
		"enabled":                   {secret(), web(), []*corev1.Pod{pod(-60)}, 1, 1},
		"may be enabled":            {secret(), web(doubted), []*corev1.Pod{pod(-60)}, 1, 1},
		"enabled and new":           {secret(), web(), []*corev1.Pod{pod(60)}, 1, 0},
		"not enabled":               {secret(), web(notEnabled), []*corev1.Pod{pod(-60)}, 0, 0},
		"ignores it":                {secret(), web(ignoresAll), []*corev1.Pod{pod(-60)}, 0, 0},
		"ignores the key":           {secret(), web(ignoresA), []*corev1.Pod{pod(-60)}, 0, 0},
		"the config has it ignored": {marked, web(), []*corev1.Pod{pod(-60)}, 0, 0},
		"others":                    {secret(), web(), []*corev1.Pod{pod(-60, bare), pod(-60, owned("Job", "j")), pod(-60, owned("Widget", "w"))}, 0, 0},
	} {
		in := input(test.content, cluster(), test.workload, test.pods...)
		in.EnabledOnly = true
		if found := receipt.Judge(in); len(found.Readers) != test.readers || found.Left != test.left {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// The restart for one config brings the content of the other as well.
func TestAReaderThatRestartsForOneOfItsConfigsDoesNotStayForAnother(t *testing.T) {
	both := func(p *corev1.Pod) {
		p.Spec.Containers[0].EnvFrom = append(p.Spec.Containers[0].EnvFrom, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}})
	}
	ignoresSecret := func(w *facts.Workload) { w.References = w.References[:1] }
	judged := func(stand *overview.Report, enabledOnly bool) receipt.Receipt {
		in := input(secret(), stand, web(ignoresSecret), pod(-60, both))
		in.Contents, in.Pods, in.EnabledOnly = append(in.Contents, configMap()), nil, enabledOnly
		take(in, pod(-60, both))
		return receipt.Judge(in)
	}
	if found := judged(cluster(row(overview.Waiting)), false); found.Readers[0].Verdict != receipt.Waits {
		t.Errorf("while it is due: %+v", found)
	}
	if found := judged(leader(settled), false); found.Readers[0].Verdict != receipt.Stays || !strings.Contains(found.Readers[0].Why, "secret/db") || strings.Contains(found.Readers[0].Why, "settings") {
		t.Errorf("once nothing is due: %+v", found)
	}
	if found := judged(leader(settled), true); found.Readers[0].Verdict != receipt.Delivered {
		t.Errorf("if only what restarts counts: %+v", found)
	}
}

// Of a custom kind, only its hold shows that its pods stay.
func TestAWorkloadWhoseStatusSaysNothingOfItsPodsStaysIfItIsHeldUp(t *testing.T) {
	untriggered := func(w *facts.Workload) {
		w.Ref.Kind, w.Hold, w.Rollout = "deploymentconfigs.apps.openshift.io", workload.Untriggered, workload.Rollout{ByPods: true, Wanted: 1}
	}
	p := pod(-60, owned("ReplicationController", "web-7", "deploymentconfig", "web"))
	if reader := only(t, input(secret(), leader(settled), web(untriggered), p)); reader.Verdict != receipt.Stays {
		t.Errorf("%+v", reader)
	}
}

func TestPodsOfOneNameInTwoNamespacesAreTwoReaders(t *testing.T) {
	office := func(p *corev1.Pod) { p.Namespace = "office" }
	in := input(secret(), cluster(), web())
	in.Contents = append(in.Contents, secret(func(s *corev1.Secret) { s.Namespace = "office" }))
	take(in, pod(-60, bare), pod(-60, bare, office))
	if found := receipt.Judge(in); len(found.Readers) != 2 || found.Readers[0].Namespace != "office" || found.Left != 2 {
		t.Errorf("%+v", found)
	}
}

func TestReadersAreSortedAndCounted(t *testing.T) {
	found := receipt.Judge(input(secret(), cluster(), web(), pod(-60, owned("Widget", "z")), pod(-60, owned("Widget", "a")), pod(60), pod(-60, bare)))
	var readers []string
	for _, reader := range found.Readers {
		readers = append(readers, reader.Name)
	}
	if !slices.Equal(readers, []string{"deployment/web", "pod/debug", "widget/a", "widget/z"}) || found.Pods != 4 || found.Left != 3 || len(found.With(receipt.Stays)) != 3 || len(found.With(receipt.Delivered)) != 1 {
		t.Errorf("%+v", found)
	}
}

func TestTheSameContentIsKnownWhateverItsDates(t *testing.T) {
	first := secret()
	touched := secret(func(s *corev1.Secret) { s.ManagedFields[0].Time, s.ManagedFields[1].Time = new(at(30)), new(at(30)) })
	edited := secret(func(s *corev1.Secret) { s.Data["a"] = []byte("other") })
	again := secret(func(s *corev1.Secret) { s.UID = "another" })
	if !first.IsSame(&touched) || first.IsSame(&edited) || first.IsSame(&again) {
		t.Errorf("%t, %t, %t", first.IsSame(&touched), first.IsSame(&edited), first.IsSame(&again))
	}
	if when, by := first.Edited(); !when.Equal(edit) || by != "editor-of-a" || first.Name() != "secret/db" {
		t.Errorf("%s by %s", when, by)
	}
	created := secret(func(s *corev1.Secret) { s.ManagedFields = s.ManagedFields[:0] })
	if when, by := created.Edited(); !when.Equal(edit.Add(-time.Hour)) || by != "" {
		t.Errorf("what was never edited: %s by %s", when, by)
	}
}
