package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"kubernetes-deployment-restart-controller/apiclient"
	"kubernetes-deployment-restart-controller/catalog"
	"kubernetes-deployment-restart-controller/watch"
)

// resource is a kind of object to watch: of configs or of workloads.
type resource struct {
	name          string // plural, as in the API's paths
	config        catalog.ConfigKind
	workload      catalog.WorkloadKind
	fieldSelector string
}

// resources in the order in which they are listed. The configs come first, so
// that what is known of a config's edits is older than what a watch shows of the
// workloads.
var resources = []resource{
	{name: "configmaps", config: catalog.ConfigMap},
	// Helm keeps its releases in Secrets, large ones, that no container reads.
	{name: "secrets", config: catalog.Secret, fieldSelector: "type!=helm.sh/release.v1"},
	{name: "deployments", workload: catalog.Deployment},
	{name: "statefulsets", workload: catalog.StatefulSet},
	{name: "daemonsets", workload: catalog.DaemonSet},
}

func (r resource) kind() schema.GroupVersionKind {
	if r.config != 0 {
		return kindOfConfig(r.config)
	}
	return kindOfWorkload(r.workload)
}

// watches reports whether configs of a kind are watched.
func (o *Options) watches(kind catalog.ConfigKind) bool {
	return len(o.Configs) == 0 || slices.Contains(o.Configs, kind)
}

// resources returns those that are to be watched.
func (o *Options) resources() []resource {
	return slices.DeleteFunc(slices.Clone(resources), func(r resource) bool { return r.config != 0 && !o.watches(r.config) })
}

// resourceWatch follows one of the resources and takes what its watch shows to
// the controller. It implements [watch.Observer].
type resourceWatch struct {
	resource
	namespace string // empty: all
	*watch.Watch[*observation]
	controller *Controller
	versions   versionCounter
	listed     bool
	// shown is the moment of the last event or list, up to which the watch has shown everything.
	shown catalog.Moment
}

func (c *Controller) newWatch(resource resource, namespace string, clients *apiclient.Clients) *resourceWatch {
	client := clients.WatchCore
	if resource.workload != "" {
		client = clients.WatchApps
	}
	w := &resourceWatch{
		resource:   resource,
		namespace:  namespace,
		controller: c,
		versions:   versionCounter{inc: c.metrics.resourceVersions.Inc},
	}
	w.Watch = watch.New(watch.Options[*observation]{
		Resource:      resource.name,
		Kind:          resource.kind(),
		Namespace:     namespace,
		FieldSelector: resource.fieldSelector,
		Client:        client,
		Reduce:        reduce,
		Name:          (*observation).name,
		Observer:      w,
		Ward:          c.ward,
		Log:           c.log,
	})
	return w
}

// Observe takes in an object that is new or has changed.
func (w *resourceWatch) Observe(o *observation) {
	w.shown = w.controller.catalog.Moment()
	w.versions.count(o.resourceVersion)
	w.versions.advance(o.resourceVersion)
	w.controller.observe(o)
}

// Forget takes in that an object is gone.
func (w *resourceWatch) Forget(o *observation) {
	w.shown = w.controller.catalog.Moment()
	w.versions.count(o.resourceVersion)
	w.versions.advance(o.resourceVersion)
	w.controller.forget(o)
}

// Replace takes in all objects.
func (w *resourceWatch) Replace(all []*observation, resourceVersion string) {
	shown := w.controller.catalog.Moment()
	for _, o := range all {
		w.versions.count(o.resourceVersion)
	}
	w.versions.advance(resourceVersion)
	if w.config != 0 {
		w.controller.listConfigs(w.config, w.namespace, all, !w.listed)
	} else {
		w.controller.listWorkloads(w.workload, w.namespace, all, w.shown)
	}
	w.listed, w.shown = true, shown
}

// versionCounter counts the distinct resource versions of one watch.
type versionCounter struct {
	newest string
	inc    func()
}

func (c *versionCounter) count(version string) {
	if order, err := resourceversion.CompareResourceVersion(version, c.newest); err == nil && order <= 0 {
		return
	}
	c.inc()
}

func (c *versionCounter) advance(version string) {
	if order, err := resourceversion.CompareResourceVersion(version, c.newest); err != nil || order > 0 {
		c.newest = version
	}
}
