package main

import (
	"testing"
	"testing/fstest"
	"testing/synctest"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/controllers/controllertest"
)

func TestEveryWebsiteHasADeployment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crd, err := definition()
		if err != nil {
			t.Fatal(err)
		}
		s, err := withWebsites()
		if err != nil {
			t.Fatal(err)
		}
		c := controllertest.Start(t, controllertest.Options{
			CRDs: fstest.MapFS{"websites.yaml": {Data: crd}}, Scheme: s, Controllers: []controllertest.Adder{add}})
		controllertest.Create(c, &Website{ObjectMeta: controllertest.Name("default", "blog"), Spec: WebsiteSpec{Image: "nginx"}})
		c.Settle() // every watch has delivered everything and every controller is idle
		d := controllertest.Get[*appsv1.Deployment](c, "default", "blog")
		if n := *d.Spec.Replicas; n != 1 {
			t.Errorf("%d replicas, not the definition's default", n)
		}
		controllertest.Update(c, "default", "blog", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "other" })
		c.Settle()
		if image := controllertest.Get[*appsv1.Deployment](c, "default", "blog").Spec.Template.Spec.Containers[0].Image; image != "nginx" {
			t.Errorf("another writer's image %s stays", image)
		}
	})
}
