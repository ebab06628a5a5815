package catalogtest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/objecttest"
	"kubernetes-deployment-restart-controller/catalog/template"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// ReadsConfigs is a workload that reads so many configs, from the given one on.
func ReadsConfigs(n, first int) workload.Workload {
	w := MustWorkload(objecttest.Deployment(corev1.Container{Name: "app"}))
	for i := range n {
		w.References = append(w.References, template.Reference{Config: objecttest.ConfigMapRef(fmt.Sprintf("config-%06d", first+i)), Channel: template.Volume})
	}
	return w
}
