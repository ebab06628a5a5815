package deployment

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/rest/fake"
	"k8s.io/client-go/tools/record"

	"kubernetes-deployment-restart-controller/internal/watch"

	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/podtemplate"
	"kubernetes-deployment-restart-controller/internal/quarantine"
)

// cluster plays the API server as far as the engine uses it: one namespace with
// Deployments, ReplicaSets and pods, versions, generations and conflicts. What it
// stores is immutable; a write replaces it.
type cluster struct {
	now         func() time.Time
	version     int64
	deployments map[string]*appsv1.Deployment
	replicaSets map[string]*appsv1.ReplicaSet
	pods        map[string]*corev1.Pod
	// changes are what the watches show, each in its order.
	changes [watches][]change
	// reads are the objects that the engine has read, in words.
	reads []string
	// gracePeriod is a default that templates have, nil for none.
	gracePeriod *int64
	// events are the recorded Events, in words.
	events []string

	// dropsTerminating plays an older server.
	dropsTerminating bool
	// refuse may refuse a write before it is done, and lose may lose the answer
	// after it was done. Both may end the controller by a panic.
	refuse, lose func(write string) error
	// forbidsRuns plays an admission policy that does not know the annotation.
	forbidsRuns bool
	// policy may change what a write of the engine brings about, as mutating admission does;
	// before is nil for an object that is created.
	policy func(before, after metav1.Object)
	// written is called after each write of the engine.
	written func(before, after *appsv1.ReplicaSet)
}

// change is what a watch shows.
type change struct {
	object  metav1.Object
	deleted bool
}

// The watches of an engine.
const (
	watchOfPods = iota
	replicaSetWatch
	deploymentWatch
	watches
)

// note lets the watches know.
func (c *cluster) note(object metav1.Object, deleted bool) {
	shownBy := watchOfPods
	switch object.(type) {
	case *appsv1.Deployment:
		shownBy = deploymentWatch
	case *appsv1.ReplicaSet:
		shownBy = replicaSetWatch
	}
	c.changes[shownBy] = append(c.changes[shownBy], change{object, deleted})
}

func newCluster(now func() time.Time) *cluster {
	return &cluster{
		now:         now,
		version:     100,
		deployments: map[string]*appsv1.Deployment{},
		replicaSets: map[string]*appsv1.ReplicaSet{},
		pods:        map[string]*corev1.Pod{},
	}
}

// put stores an object under a new version.
func (c *cluster) put(object metav1.Object) {
	c.version++
	object.SetResourceVersion(strconv.FormatInt(c.version, 10))
	if object.GetUID() == "" {
		object.SetUID(types.UID(fmt.Sprintf("uid-%d", c.version)))
		object.SetCreationTimestamp(metav1.Time{Time: c.now().Truncate(time.Second)})
	}
	switch o := object.(type) {
	case *appsv1.Deployment:
		c.addDefaults(&o.Spec.Template)
		c.deployments[o.Name] = o
	case *appsv1.ReplicaSet:
		c.addDefaults(&o.Spec.Template)
		c.replicaSets[o.Name] = o
	case *corev1.Pod:
		c.pods[o.Name] = o
	}
	c.note(object, false)
}

// delete removes an object. What watches show of it has the version of that.
func (c *cluster) delete(object metav1.Object) {
	c.version++
	var last metav1.Object
	switch o := object.(type) {
	case *appsv1.Deployment:
		delete(c.deployments, o.Name)
		last = new(*o)
	case *appsv1.ReplicaSet:
		delete(c.replicaSets, o.Name)
		last = new(*o)
	case *corev1.Pod:
		delete(c.pods, o.Name)
		last = new(*o)
	}
	last.SetResourceVersion(strconv.FormatInt(c.version, 10))
	c.note(last, true)
}

// setDefaults puts an API server in place of the present one that knows a field more, and has
// a default for it. What is stored has the versions that it had, and so has what the watches
// have yet to show.
func (c *cluster) setDefaults() {
	c.gracePeriod = new(int64(30))
	for name, d := range c.deployments {
		c.deployments[name] = c.withDefaults(d).(*appsv1.Deployment)
	}
	for name, rs := range c.replicaSets {
		c.replicaSets[name] = c.withDefaults(rs).(*appsv1.ReplicaSet)
	}
	for _, changes := range c.changes {
		for i := range changes {
			changes[i].object = c.withDefaults(changes[i].object)
		}
	}
}

func (c *cluster) withDefaults(object metav1.Object) metav1.Object {
	switch o := object.(type) {
	case *appsv1.Deployment:
		o = new(*o)
		c.addDefaults(&o.Spec.Template)
		return o
	case *appsv1.ReplicaSet:
		o = new(*o)
		c.addDefaults(&o.Spec.Template)
		return o
	}
	return object
}

func (c *cluster) addDefaults(template *corev1.PodTemplateSpec) {
	if template.Spec.TerminationGracePeriodSeconds == nil {
		template.Spec.TerminationGracePeriodSeconds = c.gracePeriod
	}
}

// changeDeployment is somebody's write to a Deployment. Changes of the
// specification and of annotations count as a generation.
func (c *cluster) changeDeployment(name string, edit func(*appsv1.Deployment)) *appsv1.Deployment {
	old := c.deployments[name]
	changed := *old
	changed.Annotations = maps.Clone(old.Annotations)
	edit(&changed)
	if apiequality.Semantic.DeepEqual(&changed, old) {
		return old
	}
	if !apiequality.Semantic.DeepEqual(&changed.Spec, &old.Spec) || !maps.Equal(changed.Annotations, old.Annotations) {
		changed.Generation++
	}
	c.put(&changed)
	return &changed
}

// changeReplicaSet is somebody's write to a ReplicaSet.
func (c *cluster) changeReplicaSet(old *appsv1.ReplicaSet, edit func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	changed := *old
	changed.Annotations = maps.Clone(old.Annotations)
	edit(&changed)
	if *changed.Spec.Replicas != *old.Spec.Replicas || changed.Spec.MinReadySeconds != old.Spec.MinReadySeconds {
		changed.Generation++
	}
	c.put(&changed)
	return &changed
}

// replicaSetsOf returns the ReplicaSets that a Deployment controls, the oldest first.
func (c *cluster) replicaSetsOf(d *appsv1.Deployment) (sets []*appsv1.ReplicaSet) {
	for _, rs := range c.replicaSets {
		if metav1.IsControlledBy(rs, d) {
			sets = append(sets, rs)
		}
	}
	slices.SortFunc(sets, func(a, b *appsv1.ReplicaSet) int {
		if order := a.CreationTimestamp.Compare(b.CreationTimestamp.Time); order != 0 {
			return order
		}
		return strings.Compare(a.Name, b.Name)
	})
	return sets
}

// newEngine returns an engine that works on the cluster and knows nothing yet. It has no
// watches; the test shows it the changes.
func (c *cluster) newEngine(metrics *metrics) *Engine {
	log := slog.New(slog.DiscardHandler)
	e := &Engine{log: log, histories: writeHistories{byDeployment: map[types.NamespacedName]writeHistory{}}, metrics: metrics, queue: newQueue(1, metrics)}
	e.caches = &caches{
		deployments: newCache(packDeployment, groupsOfDeployment, e.onDeployment),
		replicaSets: newCache(packReplicaSet, groupsOfReplicaSet, e.onReplicaSet),
		pods:        newPodTable(func(string) {}, e.wake),
	}
	e.quarantine, e.ownEvents = quarantine.New(quarantine.Options{Log: log, Panicked: e.panicked}), recorder{c: c}
	e.executor = &executor{apps: appsAPI{c: c}, core: c.coreAPI(), caches: e.caches, mayWrite: e.drives, events: recorder{c: c}, metrics: metrics, log: log}
	e.driving.Store(true)
	return e
}

// show hands a change to an engine as a watch does.
func (ch change) show(e *Engine) {
	switch o := ch.object.(type) {
	case *appsv1.Deployment:
		showTo(e.caches.deployments.feed(""), packDeployment(rollout.NewDeployment(o)), ch.deleted)
	case *appsv1.ReplicaSet:
		showTo(e.caches.replicaSets.feed(""), packReplicaSet(rollout.NewReplicaSet(o)), ch.deleted)
	case *corev1.Pod:
		showTo(podFeed{e.caches.pods, ""}, newPod(o), ch.deleted)
	}
}

func showTo[T any](f watch.Observer[T], value T, deleted bool) {
	if deleted {
		f.Forget(value)
	} else {
		f.Observe(value)
	}
}

// list hands all objects to an engine as a list does.
func (c *cluster) list(e *Engine) {
	version := strconv.FormatInt(c.version, 10)
	var sets []packedReplicaSet
	for _, name := range slices.Sorted(maps.Keys(c.replicaSets)) {
		sets = append(sets, packReplicaSet(rollout.NewReplicaSet(c.replicaSets[name])))
	}
	e.caches.replicaSets.feed("").Replace(sets, version)
	var deployments []packedDeployment
	for _, name := range slices.Sorted(maps.Keys(c.deployments)) {
		deployments = append(deployments, packDeployment(rollout.NewDeployment(c.deployments[name])))
	}
	e.caches.deployments.feed("").Replace(deployments, version)
}

// listPods hands all pods to an engine, which does not know of any before.
func (c *cluster) listPods(e *Engine) {
	var pods []*pod
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		pods = append(pods, newPod(c.pods[name]))
	}
	podFeed{e.caches.pods, ""}.Replace(pods, "")
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// decode reads a patch. A field that the cluster does not know would go unnoticed.
func decode(body []byte, into any) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		panic(fmt.Sprintf("patch %s: %v", body, err))
	}
}

func conflict(resource, name string) error {
	return apierrors.NewConflict(appsv1.Resource(resource), name, fmt.Errorf("the object has been modified"))
}

func notFound(resource, name string) error {
	return apierrors.NewNotFound(appsv1.Resource(resource), name)
}

// unavailable is what a server in trouble answers.
func unavailable() *apierrors.StatusError {
	return apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, "patch", appsv1.Resource("replicasets"), "web", "try later", 0, true)
}

// ask runs a write between what may refuse it and what may lose its answer.
func ask[T any](c *cluster, what string, write func() (T, error)) (T, error) {
	var none T
	if c.refuse != nil {
		if err := c.refuse(what); err != nil {
			return none, err
		}
	}
	answer, err := write()
	if err == nil && c.lose != nil {
		if err := c.lose(what); err != nil {
			return none, err
		}
	}
	return answer, err
}

// appsAPI is the client of a cluster.
type appsAPI struct {
	apiclient.Apps
	c *cluster
}

func (a appsAPI) Deployments(string) apiclient.Deployments { return deploymentsAPI{c: a.c} }
func (a appsAPI) ReplicaSets(string) apiclient.ReplicaSets { return replicaSetsAPI{c: a.c} }

// RESTClient answers in JSON when a ReplicaSet is read.
func (a appsAPI) RESTClient() rest.Interface {
	return jsonClient(func(request *http.Request) (int, []byte) {
		name := path.Base(request.URL.Path)
		a.c.reads = append(a.c.reads, "replicaset "+name)
		if rs, found := a.c.replicaSets[name]; found {
			return http.StatusOK, must(json.Marshal(rs))
		}
		return http.StatusNotFound, must(json.Marshal(apierrors.NewNotFound(appsv1.Resource("replicasets"), name).Status()))
	})
}

// coreAPI lists the pods that a label selector selects, each by its name. A list is no write, but may be refused or lost, too.
func (c *cluster) coreAPI() rest.Interface {
	return jsonClient(func(request *http.Request) (int, []byte) {
		if !strings.HasSuffix(request.URL.Path, "/namespaces/ns/pods") {
			panic("a request for " + request.URL.Path)
		}
		list, err := ask(c, "list pods", func() (*corev1.PodList, error) { return c.selectedPods(request.URL.Query().Get("labelSelector")), nil })
		if err != nil {
			return http.StatusServiceUnavailable, must(json.Marshal(unavailable().Status()))
		}
		return http.StatusOK, must(json.Marshal(list))
	})
}

func (c *cluster) selectedPods(selector string) *corev1.PodList {
	selected := must(labels.Parse(selector))
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		if pod := c.pods[name]; selected.Matches(labels.Set(pod.Labels)) {
			list.Items = append(list.Items, *pod)
		}
	}
	return list
}

// jsonClient is a client of a server that answers in JSON.
func jsonClient(answer func(*http.Request) (code int, body []byte)) rest.Interface {
	return &fake.RESTClient{
		NegotiatedSerializer: apiclient.Codecs.WithoutConversion(), GroupVersion: appsv1.SchemeGroupVersion,
		Client: fake.CreateHTTPClient(func(request *http.Request) (*http.Response, error) {
			code, body := answer(request)
			return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Body: io.NopCloser(bytes.NewReader(body))}, nil
		}),
	}
}

type deploymentsAPI struct {
	apiclient.Objects[*appsv1.Deployment]
	c *cluster
}

func (a deploymentsAPI) Get(_ context.Context, name string, _ metav1.GetOptions) (*appsv1.Deployment, error) {
	a.c.reads = append(a.c.reads, "deployment "+name)
	d, found := a.c.deployments[name]
	if !found {
		return nil, notFound("deployments", name)
	}
	return d, nil
}

func (a deploymentsAPI) Patch(_ context.Context, name string, kind types.PatchType, body []byte, _ metav1.PatchOptions, subresources ...string) (*appsv1.Deployment, error) {
	return ask(a.c, "deployment"+strings.Join(append([]string{""}, subresources...), "/"), func() (*appsv1.Deployment, error) {
		d, found := a.c.deployments[name]
		switch {
		case !found:
			return nil, notFound("deployments", name)
		case kind == types.MergePatchType && slices.Equal(subresources, []string{"status"}):
			return a.patchStatus(d, body)
		case kind == types.JSONPatchType && len(subresources) == 0:
			return a.patchTemplate(d, body)
		}
		panic(fmt.Sprintf("a %s of %v", kind, subresources))
	})
}

func (a deploymentsAPI) patchStatus(d *appsv1.Deployment, body []byte) (*appsv1.Deployment, error) {
	var patch struct {
		Metadata struct {
			ResourceVersion string
			Annotations     map[string]*string
		}
		Status appsv1.DeploymentStatus
	}
	decode(body, &patch)
	if patch.Metadata.ResourceVersion != d.ResourceVersion {
		return nil, conflict("deployments", d.Name)
	}
	if _, writes := patch.Metadata.Annotations[podtemplate.RunsAnnotation]; writes && a.c.forbidsRuns {
		return nil, apierrors.NewForbidden(appsv1.Resource("deployments"), d.Name, errors.New("nothing but the revision"))
	}
	changed := *d
	changed.Status = patch.Status
	if a.c.dropsTerminating {
		changed.Status.TerminatingReplicas = nil
	}
	if len(patch.Metadata.Annotations) > 0 {
		changed.Annotations = maps.Clone(d.Annotations)
		if changed.Annotations == nil {
			changed.Annotations = map[string]string{}
		}
		for key, value := range patch.Metadata.Annotations {
			if delete(changed.Annotations, key); value != nil {
				changed.Annotations[key] = *value
			}
		}
	}
	if a.c.policy != nil {
		a.c.policy(d, &changed)
	}
	if maps.Equal(changed.Annotations, d.Annotations) && apiequality.Semantic.DeepEqual(&changed.Status, &d.Status) {
		return d, nil
	}
	a.c.put(&changed)
	return &changed, nil
}

func (a deploymentsAPI) patchTemplate(d *appsv1.Deployment, body []byte) (*appsv1.Deployment, error) {
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	decode(body, &operations)
	changed := *d
	changed.Annotations = maps.Clone(d.Annotations)
	changed.Generation++
	for _, operation := range operations {
		switch key, isAnnotation := strings.CutPrefix(operation.Path, "/metadata/annotations/"); {
		case operation.Op == "replace" && operation.Path == "/metadata/resourceVersion":
			if string(operation.Value) != strconv.Quote(d.ResourceVersion) {
				return nil, conflict("deployments", d.Name)
			}
		case operation.Op == "replace" && operation.Path == "/spec/template":
			changed.Spec.Template = corev1.PodTemplateSpec{}
			decode(operation.Value, &changed.Spec.Template)
		case operation.Op == "remove" && isAnnotation:
			key = unescape(key)
			if _, found := changed.Annotations[key]; !found {
				return nil, apierrors.NewBadRequest("no annotation " + key)
			}
			delete(changed.Annotations, key)
		case operation.Op == "add" && isAnnotation:
			var value string
			decode(operation.Value, &value)
			changed.Annotations[unescape(key)] = value
		default:
			panic(fmt.Sprintf("a patch of %s", operation.Path))
		}
	}
	a.c.put(&changed)
	return &changed, nil
}

func unescape(pointer string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(pointer)
}

type replicaSetsAPI struct {
	apiclient.Objects[*appsv1.ReplicaSet]
	c *cluster
}

func (a replicaSetsAPI) Get(_ context.Context, name string, _ metav1.GetOptions) (*appsv1.ReplicaSet, error) {
	a.c.reads = append(a.c.reads, "replicaset "+name)
	rs, found := a.c.replicaSets[name]
	if !found {
		return nil, notFound("replicasets", name)
	}
	return rs, nil
}

func (a replicaSetsAPI) Create(_ context.Context, rs *appsv1.ReplicaSet, _ metav1.CreateOptions) (*appsv1.ReplicaSet, error) {
	return ask(a.c, "create", func() (*appsv1.ReplicaSet, error) {
		if _, found := a.c.replicaSets[rs.Name]; found {
			return nil, apierrors.NewAlreadyExists(appsv1.Resource("replicasets"), rs.Name)
		}
		created := *rs.DeepCopy()
		created.Generation = 1
		if a.c.policy != nil {
			a.c.policy(nil, &created)
		}
		a.c.put(&created)
		a.note(nil, &created)
		return &created, nil
	})
}

func (a replicaSetsAPI) note(before, after *appsv1.ReplicaSet) {
	if a.c.written != nil {
		a.c.written(before, after)
	}
}

// admit returns a ReplicaSet as an edit and then the policy leave it, nil if it is as before.
func (c *cluster) admit(before *appsv1.ReplicaSet, edit func(*appsv1.ReplicaSet)) *appsv1.ReplicaSet {
	edited := *before
	edited.Annotations = maps.Clone(before.Annotations)
	edit(&edited)
	if c.policy != nil {
		c.policy(before, &edited)
	}
	if apiequality.Semantic.DeepEqual(&edited, before) {
		return nil
	}
	return &edited
}

func (a replicaSetsAPI) Delete(_ context.Context, name string, options metav1.DeleteOptions) error {
	_, err := ask(a.c, "delete", func() (struct{}, error) {
		rs, found := a.c.replicaSets[name]
		switch {
		case !found:
			return struct{}{}, notFound("replicasets", name)
		case *options.Preconditions.UID != rs.UID, *options.Preconditions.ResourceVersion != rs.ResourceVersion:
			return struct{}{}, conflict("replicasets", name)
		}
		a.c.delete(rs)
		a.note(rs, nil)
		return struct{}{}, nil
	})
	return err
}

func (a replicaSetsAPI) Patch(_ context.Context, name string, kind types.PatchType, body []byte, _ metav1.PatchOptions, _ ...string) (*appsv1.ReplicaSet, error) {
	return ask(a.c, "replicaset", func() (*appsv1.ReplicaSet, error) {
		rs, found := a.c.replicaSets[name]
		if !found {
			return nil, notFound("replicasets", name)
		}
		type owner struct {
			metav1.OwnerReference `json:",inline"`

			Patch string `json:"$patch"`
		}
		var patch struct {
			Metadata struct {
				ResourceVersion string
				UID             types.UID
				Annotations     map[string]string
				OwnerReferences []owner
			}
			Spec struct{ Replicas, MinReadySeconds *int32 }
		}
		decode(body, &patch)
		if patch.Metadata.ResourceVersion != rs.ResourceVersion || patch.Metadata.UID != "" && patch.Metadata.UID != rs.UID {
			return nil, conflict("replicasets", name)
		}
		edited := a.c.admit(rs, func(changed *appsv1.ReplicaSet) {
			maps.Copy(changed.Annotations, patch.Metadata.Annotations)
			if patch.Spec.Replicas != nil {
				changed.Spec.Replicas = patch.Spec.Replicas
			}
			if patch.Spec.MinReadySeconds != nil {
				changed.Spec.MinReadySeconds = *patch.Spec.MinReadySeconds
			}
			for _, owner := range patch.Metadata.OwnerReferences {
				if kind != types.StrategicMergePatchType {
					panic("owners cannot be merged")
				}
				changed.OwnerReferences = slices.DeleteFunc(slices.Clone(changed.OwnerReferences), func(o metav1.OwnerReference) bool { return o.UID == owner.UID })
				if owner.Patch != "delete" {
					changed.OwnerReferences = append(changed.OwnerReferences, owner.OwnerReference)
				}
			}
		})
		if edited == nil {
			return rs, nil
		}
		changed := a.c.changeReplicaSet(rs, func(changed *appsv1.ReplicaSet) { *changed = *edited })
		a.note(rs, changed)
		return changed, nil
	})
}

// recorder keeps the events in words.
type recorder struct {
	record.EventRecorder
	c *cluster
}

func (r recorder) Event(_ runtime.Object, kind, reason, message string) {
	r.c.events = append(r.c.events, kind+" "+reason+": "+message)
}

func (r recorder) Eventf(_ runtime.Object, kind, reason, format string, arguments ...any) {
	r.c.events = append(r.c.events, kind+" "+reason+": "+fmt.Sprintf(format, arguments...))
}
