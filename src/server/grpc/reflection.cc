#include "server/grpc/reflection.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <string>
#include <unordered_set>

namespace weir::grpc {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;

constexpr const char* kServices[] = {"envoy.service.ratelimit.v3.RateLimitService",
                                     "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection",
                                     "grpc.reflection.v1alpha.ServerReflection", "weir.v1.Slots"};

constexpr Status kTooMuch = {.code = Code::kResourceExhausted,
                             .message = "the answers are not read"};

// The file and all that it imports, each once; an imported file comes later.
template <typename Files>
void add_files(const FileDescriptor& file, std::unordered_set<const FileDescriptor*>& added,
               Files& files) {
  if (!added.insert(&file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  files.add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) add_files(*file.dependency(i), added, files);
}

template <typename Response>
void answer_file(const FileDescriptor* file, Response& response) {
  if (file == nullptr) {
    response.mutable_error_response()->set_error_code(static_cast<int>(Code::kNotFound));
    response.mutable_error_response()->set_error_message("there is no such thing");
    return;
  }
  std::unordered_set<const FileDescriptor*> added;
  add_files(*file, added, *response.mutable_file_descriptor_response());
}

template <typename Response>
void list_services(Response& response) {
  for (const char* name : kServices) {
    response.mutable_list_services_response()->add_service()->set_name(name);
  }
}

// There are no extensions here.
template <typename Response>
void answer_extensions(const std::string& type, Response& response) {
  if (DescriptorPool::generated_pool()->FindMessageTypeByName(type) == nullptr) {
    return answer_file(nullptr, response);
  }
  response.mutable_all_extension_numbers_response()->set_base_type_name(type);
}

}  // namespace

template <typename Request, typename Response>
void Reflection<Request, Response>::begin(Http2Stream& stream) {
  begin_reply(stream);
  stream.keep_open();
}

template <typename Request, typename Response>
void Reflection<Request, Response>::arrived(Http2Stream& stream, Instant) {
  for (;;) {
    const Message message = find_message(stream.body());
    if (message.framing == Framing::kPartial) return;
    if (message.framing != Framing::kComplete) return refuse_message(stream, message.framing);
    if (!parse(request_, message.payload)) return end_reply(stream, kUnreadable);
    if (stream.waiting() > kWaitingMax) return end_reply(stream, kTooMuch);
    stream.consume(message.size());
    answer();
    append_message(stream, response_);
  }
}

template <typename Request, typename Response>
void Reflection<Request, Response>::completed(Http2Stream& stream, Instant) {
  if (!stream.body().empty()) return refuse_message(stream, Framing::kPartial);
  end_reply(stream, {});
}

template <typename Request, typename Response>
void Reflection<Request, Response>::closing(Http2Stream& stream) {
  if (stream.is_begun()) end_reply(stream, kClosing);
}

template <typename Request, typename Response>
void Reflection<Request, Response>::answer() {
  response_.Clear();
  response_.set_valid_host(request_.host());
  *response_.mutable_original_request() = request_;
  const auto& pool = *DescriptorPool::generated_pool();
  switch (request_.message_request_case()) {
    case Request::kListServices: return list_services(response_);
    case Request::kFileByFilename:
      return answer_file(pool.FindFileByName(request_.file_by_filename()), response_);
    case Request::kFileContainingSymbol:
      return answer_file(pool.FindFileContainingSymbol(request_.file_containing_symbol()),
                         response_);
    case Request::kAllExtensionNumbersOfType:
      return answer_extensions(request_.all_extension_numbers_of_type(), response_);
    case Request::kFileContainingExtension: return answer_file(nullptr, response_);
    case Request::MESSAGE_REQUEST_NOT_SET: break;
  }
  response_.mutable_error_response()->set_error_code(static_cast<int>(Code::kInvalidArgument));
  response_.mutable_error_response()->set_error_message("nothing is asked");
}

template class Reflection<::grpc::reflection::v1::ServerReflectionRequest,
                          ::grpc::reflection::v1::ServerReflectionResponse>;
template class Reflection<::grpc::reflection::v1alpha::ServerReflectionRequest,
                          ::grpc::reflection::v1alpha::ServerReflectionResponse>;

}  // namespace weir::grpc
