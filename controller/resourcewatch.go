package controller

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/internal/watch"
)

// resourceWatch follows one resource and passes what its watch shows to the controller. It
// implements [watch.Observer].
type resourceWatch struct {
	*watch.Watch[*observation]
	// config or workload is the watched kind; the other one is nil, and both are if mounts or Namespaces are watched.
	config    *configKind
	workload  *workloadKind
	mounts    bool
	namespace string // empty: all
	intake    *intake
	versions  versionCounter
	listed    bool
	// buffered is how much the workloads take together that have been reduced since the last one was taken in, by
	// namespace: those of an incomplete list.
	buffered map[string]int
	// shown is the moment of the last event or list, up to which the watch has shown everything.
	shown names.Sequence
}

// Observe takes in an object that is new or has changed.
func (w *resourceWatch) Observe(o *observation) {
	clear(w.buffered)
	w.shown = w.intake.catalog.Sequence()
	w.versions.count(o.resourceVersion)
	w.versions.advance(o.resourceVersion)
	w.intake.observe(o)
}

// kind is how the API names the kind of the objects, unless they are mounts.
func (w *resourceWatch) kind() schema.GroupVersionKind {
	switch {
	case w.config != nil:
		return w.config.kind()
	case w.workload != nil:
		return w.workload.kind()
	}
	return namespaceKind{}.kind()
}

// Forget takes in that an object is gone.
func (w *resourceWatch) Forget(o *observation) {
	clear(w.buffered)
	w.shown = w.intake.catalog.Sequence()
	w.versions.count(o.resourceVersion)
	w.versions.advance(o.resourceVersion)
	w.intake.forget(o)
}

// Replace takes in all objects.
func (w *resourceWatch) Replace(all []*observation, resourceVersion string) {
	clear(w.buffered)
	shown := w.intake.catalog.Sequence()
	for _, o := range all {
		w.versions.count(o.resourceVersion)
	}
	w.versions.newest = resourceVersion // which is lower if etcd was restored from a backup
	switch {
	case w.config != nil:
		w.intake.listConfigs(w.config.config, w.namespace, all, !w.listed)
	case w.workload != nil:
		w.intake.listWorkloads(w.workload.workload, w.namespace, all, w.shown)
	case w.mounts:
		w.intake.listMounts(w.namespace, all, !w.listed)
	default:
		w.intake.listNamespaces(w.namespace, all)
	}
	if !w.mounts {
		w.intake.mistakes.list(w.kind(), w.namespace, all)
	}
	w.listed, w.shown = true, shown
}

// status describes what the watch sees.
func (w *resourceWatch) status() status.Watch {
	s := w.Status()
	shown := status.Watch{
		Resource: s.Resource, Namespace: s.Namespace, Works: s.Up() || s.Missing, Listed: s.Synced, Since: s.WorkingSince.UTC(), Remedy: s.Remedy(), Without: w.without(s.Synced),
	}
	if !s.BrokenSince.IsZero() {
		shown.Since, shown.Problem = s.BrokenSince.UTC(), brief.Text(s.Problem.Error())
	}
	if shown.Works {
		shown.Without = ""
	}
	return shown
}

// without says what does not work while the watch does not, or has not listed its objects yet.
func (w *resourceWatch) without(isListed bool) string {
	switch {
	case w.config != nil && isListed:
		return "it does not notice edits of them"
	case w.config != nil && w.namespace != "":
		return "no workload restarts there"
	case w.config != nil:
		return "no workload restarts"
	case w.workload != nil && isListed:
		return "it does not notice new and changed ones"
	case w.workload != nil:
		return "none of them restarts"
	case w.mounts:
		return "it does not notice rotated files"
	}
	return "it does not notice which of them enable their workloads"
}

// watches holds the watches of all kinds and namespaces, once they have been opened.
type watches struct{ all []*resourceWatch }

// awaitLists returns when everything has been listed once, or false when the context ends. It does not wait for
// what may not be installed.
func (all *watches) awaitLists(ctx context.Context) bool {
	for _, w := range all.all {
		if w.mounts || w.workload != nil && w.workload.custom != nil {
			continue
		}
		select {
		case <-w.Synced():
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// goOnOnceListed decides again about the workloads that wait for the first list of a watch as soon as it is there, which may be
// long after the start if a permission was missing. Lists of the same second count as one: very many may be there at once.
func (all *watches) goOnOnceListed(ctx context.Context, askUnknown func(listed map[string]bool)) {
	for awaited := slices.Clone(all.all); len(awaited) > 0; {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
		listed := make(map[string]bool)
		awaited = slices.DeleteFunc(awaited, func(w *resourceWatch) bool {
			isListed := w.Status().Synced
			if isListed {
				listed[w.namespace] = true
			}
			return isListed
		})
		askUnknown(listed)
	}
}

// knowConfigs reports whether all configs of a namespace have been listed once.
// Before that, workloads look as if their configs were gone.
func (all *watches) knowConfigs(namespace string) bool {
	return !slices.ContainsFunc(all.all, func(w *resourceWatch) bool {
		return w.config != nil && w.shows(namespace) && !w.Status().Synced
	})
}

// knowWhatExists reports whether a config of a kind that was not seen in a namespace is missing: all have been listed. While the
// watch is broken, what it saw last holds, so that no restart of an API server lets restarts begin that wait for a config;
// a watch that is refused for long would make them wait for ever.
func (all *watches) knowWhatExists(kind names.ConfigKind, namespace string) bool {
	return slices.ContainsFunc(all.all, func(w *resourceWatch) bool {
		if w.config == nil || w.config.config != kind || !w.shows(namespace) {
			return false
		}
		status := w.Status()
		return status.Synced && !status.IsRefused(time.Now())
	})
}

func (w *resourceWatch) shows(namespace string) bool {
	return w.namespace == "" || w.namespace == namespace
}

// knowAllConfigs reports whether all configs of all namespaces have been listed once.
func (all *watches) knowAllConfigs() bool {
	return !slices.ContainsFunc(all.all, func(w *resourceWatch) bool { return w.config != nil && !w.Status().Synced })
}

// listPatience is how long workloads that cannot be listed keep others from restarting. Those of a kind that
// the controller may not list never can.
const listPatience = time.Minute

// knowWorkloads reports whether all workloads of a namespace have been listed once, as far as they can be.
func (all *watches) knowWorkloads(namespace string) bool {
	return !slices.ContainsFunc(all.all, func(w *resourceWatch) bool {
		if w.workload == nil || !w.shows(namespace) {
			return false
		}
		status := w.Status()
		isBroken := !status.BrokenSince.IsZero() && time.Since(status.BrokenSince) >= listPatience
		return !status.Synced && !status.Missing && !isBroken
	})
}

// versionCounter counts the distinct resource versions of one watch.
type versionCounter struct {
	newest string
	inc    func()
}

func (c *versionCounter) count(version string) {
	if workload.IsLaterVersion(version, c.newest) {
		c.inc()
	}
}

func (c *versionCounter) advance(version string) {
	if workload.IsLaterVersion(version, c.newest) {
		c.newest = version
	}
}
