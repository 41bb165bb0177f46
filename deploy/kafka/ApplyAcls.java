import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashSet;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;

/**
 * Makes a cluster's ACLs equal to a list: adds what is missing and removes what is not in it.
 *
 * <p>Run by Java itself with Kafka's jars: {@code java -cp "lib/*" ApplyAcls.java CLIENT LIST}, where
 * each line of LIST is {@code principal operation TOPIC|GROUP name}.
 */
final class ApplyAcls {
    private ApplyAcls() {}

    public static void main(String[] arguments) throws Exception {
        Properties client = new Properties();
        try (var file = Files.newBufferedReader(Path.of(arguments[0]))) {
            client.load(file);
        }
        Set<AclBinding> wanted =
                Files.readAllLines(Path.of(arguments[1])).stream()
                        .map(ApplyAcls::binding)
                        .collect(Collectors.toSet());
        try (Admin admin = Admin.create(client)) {
            Collection<AclBinding> present = admin.describeAcls(AclBindingFilter.ANY).values().get();
            Set<AclBinding> unwanted = new HashSet<>(present);
            unwanted.removeAll(wanted);
            wanted.removeAll(present);
            admin.createAcls(wanted).all().get();
            admin.deleteAcls(unwanted.stream().map(AclBinding::toFilter).toList()).all().get();
        }
    }

    private static AclBinding binding(String line) {
        String[] part = line.split(" ");
        return new AclBinding(
                new ResourcePattern(ResourceType.valueOf(part[2]), part[3], PatternType.LITERAL),
                new AccessControlEntry(
                        "User:" + part[0], "*", AclOperation.valueOf(part[1]), AclPermissionType.ALLOW));
    }
}
