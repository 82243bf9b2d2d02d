namespace storage { int size(); }
namespace disk = storage
