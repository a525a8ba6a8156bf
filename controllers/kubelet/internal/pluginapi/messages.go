package pluginapi

// DeviceVersion is the version of the interface of device plugins, and the package of its services.
const DeviceVersion = "v1beta1"

// Healthy is the health of a device that can be used.
const Healthy = "Healthy"

// Empty is a message without fields.
type Empty struct{}

// DeviceOptions are the optional methods of a device plugin that it wants to be called.
type DeviceOptions struct {
	PreStart  bool `protobuf:"varint,1,opt,name=pre_start_required"`
	Preferred bool `protobuf:"varint,2,opt,name=get_preferred_allocation_available"`
}

// RegisterRequest registers a device plugin.
type RegisterRequest struct {
	Version  string         `protobuf:"bytes,1,opt,name=version"`
	Endpoint string         `protobuf:"bytes,2,opt,name=endpoint"`
	Resource string         `protobuf:"bytes,3,opt,name=resource_name"`
	Options  *DeviceOptions `protobuf:"bytes,4,opt,name=options"`
}

// DeviceList are all devices of a plugin.
type DeviceList struct {
	Devices []Device `protobuf:"bytes,1,rep,name=devices"`
}

// Device is one device.
type Device struct {
	ID       string    `protobuf:"bytes,1,opt,name=ID"`
	Health   string    `protobuf:"bytes,2,opt,name=health"`
	Topology *Topology `protobuf:"bytes,3,opt,name=topology"`
}

// Topology says at which NUMA nodes a device is.
type Topology struct {
	Nodes []NUMANode `protobuf:"bytes,1,rep,name=nodes"`
}

// NUMANode is a NUMA node of the machine.
type NUMANode struct {
	ID int64 `protobuf:"varint,1,opt,name=ID"`
}

// DeviceIDs names devices of a container.
type DeviceIDs struct {
	IDs []string `protobuf:"bytes,1,rep,name=devices_ids"`
}

// PreferredRequest requests a choice of devices.
type PreferredRequest struct {
	Containers []ContainerPreferred `protobuf:"bytes,1,rep,name=container_requests"`
}

// ContainerPreferred is the choice for one container.
type ContainerPreferred struct {
	Available []string `protobuf:"bytes,1,rep,name=available_deviceIDs"`
	Must      []string `protobuf:"bytes,2,rep,name=must_include_deviceIDs"`
	Size      int32    `protobuf:"varint,3,opt,name=allocation_size"`
}

// PreferredReply is the choice of a plugin.
type PreferredReply struct {
	Containers []DeviceIDs `protobuf:"bytes,1,rep,name=container_responses"`
}

// AllocateRequest allocates devices.
type AllocateRequest struct {
	Containers []DeviceIDs `protobuf:"bytes,1,rep,name=container_requests"`
}

// AllocateReply says what containers need to use devices.
type AllocateReply struct {
	Containers []ContainerAllocation `protobuf:"bytes,1,rep,name=container_responses"`
}

// ContainerAllocation is what a container needs to use its devices.
type ContainerAllocation struct {
	Envs        map[string]string `json:"envs,omitempty" protobuf:"bytes,1,rep,name=envs"`
	Mounts      []Mount           `json:"mounts,omitempty" protobuf:"bytes,2,rep,name=mounts"`
	Devices     []DeviceSpec      `json:"devices,omitempty" protobuf:"bytes,3,rep,name=devices"`
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,4,rep,name=annotations"`
	CDIDevices  []CDIDevice       `json:"cdiDevices,omitempty" protobuf:"bytes,5,rep,name=cdi_devices"`
}

// Mount is a path of the host in a container.
type Mount struct {
	ContainerPath string `json:"containerPath" protobuf:"bytes,1,opt,name=container_path"`
	HostPath      string `json:"hostPath" protobuf:"bytes,2,opt,name=host_path"`
	ReadOnly      bool   `json:"readOnly,omitempty" protobuf:"varint,3,opt,name=read_only"`
}

// DeviceSpec is a device node of the host in a container. Permissions are of r, w and m.
type DeviceSpec struct {
	ContainerPath string `json:"containerPath" protobuf:"bytes,1,opt,name=container_path"`
	HostPath      string `json:"hostPath" protobuf:"bytes,2,opt,name=host_path"`
	Permissions   string `json:"permissions" protobuf:"bytes,3,opt,name=permissions"`
}

// CDIDevice is the qualified name of a device of the Container Device Interface.
type CDIDevice struct {
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// PluginInfo is how a plugin in the registration directory describes itself.
type PluginInfo struct {
	Type     string   `protobuf:"bytes,1,opt,name=type"`
	Name     string   `protobuf:"bytes,2,opt,name=name"`
	Endpoint string   `protobuf:"bytes,3,opt,name=endpoint"`
	Versions []string `protobuf:"bytes,4,rep,name=supported_versions"`
}

// RegistrationStatus is the answer to a plugin in the registration directory.
type RegistrationStatus struct {
	Registered bool   `protobuf:"varint,1,opt,name=plugin_registered"`
	Error      string `protobuf:"bytes,2,opt,name=error"`
}

// PodResourcesList are the resources of all pods.
type PodResourcesList struct {
	Pods []PodResources `protobuf:"bytes,1,rep,name=pod_resources"`
}

// PodResources are those of one pod.
type PodResources struct {
	Name       string               `protobuf:"bytes,1,opt,name=name"`
	Namespace  string               `protobuf:"bytes,2,opt,name=namespace"`
	Containers []ContainerResources `protobuf:"bytes,3,rep,name=containers"`
}

// ContainerResources are those of one container.
type ContainerResources struct {
	Name    string             `protobuf:"bytes,1,opt,name=name"`
	Devices []ContainerDevices `protobuf:"bytes,2,rep,name=devices"`
	CPUs    []int64            `protobuf:"varint,3,rep,name=cpu_ids"`
	Memory  []ContainerMemory  `protobuf:"bytes,4,rep,name=memory"`
	Dynamic []DynamicResource  `protobuf:"bytes,5,rep,name=dynamic_resources"`
}

// ContainerMemory is memory of one place, in bytes.
type ContainerMemory struct {
	Type     string    `protobuf:"bytes,1,opt,name=memory_type"`
	Size     uint64    `protobuf:"varint,2,opt,name=size"`
	Topology *Topology `protobuf:"bytes,3,opt,name=topology"`
}

// ContainerDevices are devices of one resource and one place.
type ContainerDevices struct {
	Resource string    `protobuf:"bytes,1,opt,name=resource_name"`
	IDs      []string  `protobuf:"bytes,2,rep,name=device_ids"`
	Topology *Topology `protobuf:"bytes,3,opt,name=topology"`
}

// AllocatableResources are those of the node.
type AllocatableResources struct {
	Devices []ContainerDevices `protobuf:"bytes,1,rep,name=devices"`
	CPUs    []int64            `protobuf:"varint,2,rep,name=cpu_ids"`
	Memory  []ContainerMemory  `protobuf:"bytes,3,rep,name=memory"`
}

// PodName names a pod.
type PodName struct {
	Name      string `protobuf:"bytes,1,opt,name=pod_name"`
	Namespace string `protobuf:"bytes,2,opt,name=pod_namespace"`
}

// OnePodResources are those of the pod that was named.
type OnePodResources struct {
	Pod *PodResources `protobuf:"bytes,1,opt,name=pod_resources"`
}
