package intake

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"kubernetes-deployment-restart-controller/catalog/names"
	"kubernetes-deployment-restart-controller/catalog/workload"
	"kubernetes-deployment-restart-controller/controller/gatekeeper"
	"kubernetes-deployment-restart-controller/controller/kinds"
	"kubernetes-deployment-restart-controller/controller/optedin"
	"kubernetes-deployment-restart-controller/controller/wording"
	"kubernetes-deployment-restart-controller/internal/brief"
	"kubernetes-deployment-restart-controller/internal/status"
	"kubernetes-deployment-restart-controller/internal/watch"
)

// ResourceWatch follows one resource and passes what its watch shows to the controller. It
// implements [watch.Observer].
type ResourceWatch struct {
	*watch.Watch[*kinds.Observation]
	// config or workload is the watched kind; the other one is nil, and both are if mounts or Namespaces are watched.
	config    *kinds.ConfigKind
	Workload  *kinds.WorkloadKind
	mounts    bool
	namespace string // empty: all
	intake    *Intake
	Versions  VersionCounter
	listed    bool
	// buffered is how much the workloads take together that have been reduced since the last one was taken in, by
	// namespace: those of an incomplete list.
	buffered map[string]int
	// shown is the moment of the last event or list, up to which the watch has shown everything.
	shown names.Sequence
}

// Observe takes in an object that is new or has changed.
func (w *ResourceWatch) Observe(o *kinds.Observation) {
	clear(w.buffered)
	w.shown = w.intake.Catalog.Sequence()
	w.Versions.count(o.ResourceVersion)
	w.Versions.advance(o.ResourceVersion)
	w.intake.Observe(o)
}

// kind is how the API names the kind of the objects, unless they are mounts.
func (w *ResourceWatch) kind() schema.GroupVersionKind {
	switch {
	case w.config != nil:
		return w.config.GVK()
	case w.Workload != nil:
		return w.Workload.GVK()
	}
	return kinds.NamespaceKind{}.GVK()
}

// Forget takes in that an object is gone.
func (w *ResourceWatch) Forget(o *kinds.Observation) {
	clear(w.buffered)
	w.shown = w.intake.Catalog.Sequence()
	w.Versions.count(o.ResourceVersion)
	w.Versions.advance(o.ResourceVersion)
	w.intake.Forget(o)
}

// Replace takes in all objects.
func (w *ResourceWatch) Replace(all []*kinds.Observation, resourceVersion string) {
	clear(w.buffered)
	shown := w.intake.Catalog.Sequence()
	for _, o := range all {
		w.Versions.count(o.ResourceVersion)
	}
	w.Versions.newest = resourceVersion // which is lower if etcd was restored from a backup
	switch {
	case w.config != nil:
		w.intake.ListConfigs(w.config.Config, w.namespace, all, !w.listed)
	case w.Workload != nil:
		w.intake.ListWorkloads(w.Workload.Workload, w.namespace, all, w.shown)
	case w.mounts:
		w.intake.listMounts(w.namespace, all, !w.listed)
	default:
		w.intake.listNamespaces(w.namespace, all)
	}
	if !w.mounts {
		w.intake.Mistakes.list(w.kind(), w.namespace, all)
	}
	w.listed, w.shown = true, shown
}

// Shown describes what the watch sees.
func (w *ResourceWatch) Shown() status.Watch {
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
func (w *ResourceWatch) without(isListed bool) string {
	switch {
	case w.config != nil && isListed:
		return "it does not notice edits of them"
	case w.config != nil && w.namespace != "":
		return "no workload restarts there"
	case w.config != nil:
		return "no workload restarts"
	case w.Workload != nil && isListed:
		return "it does not notice new and changed ones"
	case w.Workload != nil:
		return "none of them restarts"
	case w.mounts:
		return "it does not notice rotated files"
	}
	return "it does not notice which of them enable their workloads"
}

// Watches holds the watches of all kinds and namespaces, once they have been opened.
type Watches struct{ All []*ResourceWatch }

// AwaitLists returns when everything has been listed once, or false when the context ends. It does not wait for
// what may not be installed.
func (all *Watches) AwaitLists(ctx context.Context) bool {
	for _, w := range all.All {
		if w.mounts || w.Workload != nil && w.Workload.Custom != nil {
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

// GoOnOnceListed decides again about the workloads that wait for the first list of a watch as soon as it is there, which may be
// long after the start if a permission was missing. Lists of the same second count as one: very many may be there at once.
func (all *Watches) GoOnOnceListed(ctx context.Context, askUnknown func(listed map[string]bool)) {
	for awaited := slices.Clone(all.All); len(awaited) > 0; {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
		listed := make(map[string]bool)
		awaited = slices.DeleteFunc(awaited, func(w *ResourceWatch) bool {
			isListed := w.Status().Synced
			if isListed {
				listed[w.namespace] = true
			}
			return isListed
		})
		askUnknown(listed)
	}
}

// KnowConfigs reports whether all configs of a namespace have been listed once.
// Before that, workloads look as if their configs were gone.
func (all *Watches) KnowConfigs(namespace string) bool {
	return !slices.ContainsFunc(all.All, func(w *ResourceWatch) bool {
		return w.config != nil && w.Shows(namespace) && !w.Status().Synced
	})
}

// KnowWhatExists reports whether a config of a kind that was not seen in a namespace is missing: all have been listed. While the
// watch is broken, what it saw last holds, so that no restart of an API server lets restarts begin that wait for a config;
// a watch that is refused for long would make them wait for ever.
func (all *Watches) KnowWhatExists(kind names.ConfigKind, namespace string) bool {
	return slices.ContainsFunc(all.All, func(w *ResourceWatch) bool {
		if w.config == nil || w.config.Config != kind || !w.Shows(namespace) {
			return false
		}
		status := w.Status()
		return status.Synced && !status.IsRefused(time.Now())
	})
}

// Shows reports whether the watch shows the objects of a namespace.
func (w *ResourceWatch) Shows(namespace string) bool {
	return w.namespace == "" || w.namespace == namespace
}

// KnowAllConfigs reports whether all configs of all namespaces have been listed once.
func (all *Watches) KnowAllConfigs() bool {
	return !slices.ContainsFunc(all.All, func(w *ResourceWatch) bool { return w.config != nil && !w.Status().Synced })
}

// KnowWorkloads reports whether all workloads of a namespace have been listed once, as far as they can be.
func (all *Watches) KnowWorkloads(namespace string) bool {
	return !slices.ContainsFunc(all.All, func(w *ResourceWatch) bool {
		if w.Workload == nil || !w.Shows(namespace) {
			return false
		}
		status := w.Status()
		isBroken := !status.BrokenSince.IsZero() && time.Since(status.BrokenSince) >= gatekeeper.ListPatience
		return !status.Synced && !status.Missing && !isBroken
	})
}

// VersionCounter counts the distinct resource versions of one watch.
type VersionCounter struct {
	newest string
	Inc    func()
}

func (c *VersionCounter) count(version string) {
	if workload.IsLaterVersion(version, c.newest) {
		c.Inc()
	}
}

func (c *VersionCounter) advance(version string) {
	if workload.IsLaterVersion(version, c.newest) {
		c.newest = version
	}
}

// Buffer notes that a workload is kept until its list is complete. Only then is it clear which workloads of a namespace
// are left alone, so of those that do not fit by then little is kept: they are read again if they do fit.
func (w *ResourceWatch) Buffer(reduced *kinds.WorkloadObservation) {
	if reduced.Size <= optedin.LittleSize {
		return
	}
	if w.buffered[reduced.Ref.Namespace] += reduced.Size; w.buffered[reduced.Ref.Namespace] > wording.MaxReferencesOfNamespace {
		reduced.Workload = reduced.Workload.LeftAlone()
	}
}

// KnowMounts reports whether all mounts of a namespace have been listed once, or are not watched.
func (all *Watches) KnowMounts(namespace string) bool {
	return !slices.ContainsFunc(all.All, func(w *ResourceWatch) bool {
		return w.mounts && w.Shows(namespace) && !w.Status().Synced
	})
}
