package controller

import (
	"fmt"

	"kubernetes-deployment-restart-controller/internal/apiclient"
	"kubernetes-deployment-restart-controller/internal/custom"
	"kubernetes-deployment-restart-controller/internal/watch"
)

// sources is what a controller watches.
type sources struct {
	configs        []*configKind
	workloads      []*workloadKind
	needNamespaces bool
	csi            bool     // whether mounts count
	namespaces     []string // empty: all
}

// opener opens the watches, which pass what they show to the intake.
type opener struct {
	clients *apiclient.Clients
	intake  *intake
	watches *watches
}

// open opens all watches, in the order in which they list their objects: what a workload reads comes before it, and so does its
// Namespace, so that it is known whether it counts.
func (o *opener) open(what sources) error {
	for _, kind := range what.configs {
		for _, namespace := range apiclient.NamespacesOrAll(what.namespaces) {
			o.configs(kind, namespace)
		}
	}
	if what.csi {
		connected, err := o.clients.Custom(custom.MountKind.GroupVersion(), custom.NewObject)
		if err != nil {
			return fmt.Errorf("make clients of %s: %w", custom.MountResource, err)
		}
		for _, namespace := range apiclient.NamespacesOrAll(what.namespaces) {
			o.mounts(namespace, connected)
		}
	}
	if what.needNamespaces {
		for _, namespace := range apiclient.NamespacesOrAll(what.namespaces) {
			o.namespaces(namespace)
		}
	}
	for _, kind := range what.workloads {
		for _, namespace := range apiclient.NamespacesOrAll(what.namespaces) {
			o.workloads(kind, namespace)
		}
	}
	return nil
}

func (o *opener) configs(kind *configKind, namespace string) {
	o.add(&resourceWatch{config: kind, namespace: namespace}, watch.Options[*observation]{
		Resource: kind.resource, Kind: kind.kind(), FieldSelector: kind.fieldSelector, Client: o.clients.WatchCore,
		Reduce: func(object any) (*observation, error) { return kind.reduce(object, &o.intake.optIns.rules) },
	})
}

func (o *opener) workloads(kind *workloadKind, namespace string) {
	w := &resourceWatch{workload: kind, namespace: namespace, buffered: make(map[string]int)}
	options := watch.Options[*observation]{
		Resource: kind.resource, Kind: kind.kind(), Client: o.clients.WatchApps,
		Reduce: func(object any) (*observation, error) {
			reduced, err := kind.reduce(object, &o.intake.optIns.rules)
			if err == nil {
				w.buffer(reduced.workload)
			}
			return reduced, err
		},
		Listing: func() { clear(w.buffered) }, // also after a list that broke off
	}
	if kind.custom != nil {
		options.Client, options.Title, options.MayBeMissing = kind.custom.Watch, string(kind.workload), true
		options.NewPage = func() apiclient.Page { return &custom.List{} }
	}
	o.add(w, options)
}

// namespaces watches one Namespace, or all of them.
func (o *opener) namespaces(name string) {
	kind := namespaceKind{&o.intake.optIns.rules}
	o.add(&resourceWatch{namespace: name}, watch.Options[*observation]{
		Resource: "namespaces", Only: name, Kind: kind.kind(), Client: o.clients.WatchCore, Reduce: kind.reduce,
	})
}

// add completes a watch with the options that all watches share.
func (o *opener) add(w *resourceWatch, options watch.Options[*observation]) {
	w.intake, w.versions = o.intake, versionCounter{inc: o.intake.metrics.resourceVersions.Inc}
	if w.config != nil || w.workload != nil || w.mounts {
		options.Namespace = w.namespace // Namespaces are in none
	}
	options.Name, options.Observer = (*observation).name, w
	options.Quarantine, options.Log = o.intake.quarantine, o.intake.log
	w.Watch = watch.New(options)
	o.watches.all = append(o.watches.all, w)
}

// mounts watches what the Secrets Store CSI driver reports of the volumes that it has mounted.
func (o *opener) mounts(namespace string, client apiclient.CustomClients) {
	o.add(&resourceWatch{mounts: true, namespace: namespace}, watch.Options[*observation]{
		Resource: custom.MountResource, Kind: custom.MountKind, Client: client.Watch, Reduce: reduceMount,
		NewPage: func() apiclient.Page { return &custom.List{} }, MayBeMissing: true,
	})
}
