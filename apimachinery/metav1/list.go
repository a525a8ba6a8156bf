package metav1

// List is the list form of any kind: apiVersion and kind ("PodList"), list metadata and items.
type List[T Object] struct {
	TypeMeta `json:",inline"`
	ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Items of the list, ordered by namespace and name.
	Items []T `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// RawList is a list whose items may be of different kinds, each with its own apiVersion and kind.
type RawList struct {
	TypeMeta `json:",inline"`
	ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Items in their original encoding.
	Items []RawExtension `json:"items" protobuf:"bytes,2,rep,name=items"`
}
