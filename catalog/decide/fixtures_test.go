package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/catalogtest"
	"kubernetes-deployment-restart-controller/catalog/content"
	"kubernetes-deployment-restart-controller/catalog/dialect"
	"kubernetes-deployment-restart-controller/catalog/objecttest"
)

// reducedConfigMap reduces a ConfigMap as the watch does.
func reducedConfigMap(cm *corev1.ConfigMap) content.Config {
	config := content.NewConfigMap(cm)
	dialect.UnderstandConfig(&catalogtest.Understanding, &config, cm.Annotations)
	return config
}

// startedAt is a pod whose only container runs since the given time, and whose
// volumes were mounted then.
func startedAt(t time.Time) Pod {
	return Pod{Mounted: t, Started: []Start{{"app", t}}}
}

// strip removes annotations of the record.
func (s *story) strip(annotations ...string) {
	kept := s.deployment.ManagedFields[:0:0]
	for _, entry := range s.deployment.ManagedFields {
		if entry.Manager != annotation.FieldManager {
			kept = append(kept, entry)
		}
	}
	for _, annotation := range annotations {
		delete(s.deployment.Annotations, annotation)
	}
	if _, stays := s.deployment.Annotations[annotation.ChecksumsAnnotation]; stays {
		kept = append(kept, objecttest.Owns(annotation.FieldManager, objecttest.NoonPlus(100), objecttest.AnnotationField(annotation.ChecksumsAnnotation)))
	}
	s.deployment.ManagedFields = kept
}
