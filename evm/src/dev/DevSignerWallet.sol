// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";

/// @title DevSignerWallet
/// @notice FOR DEVELOPMENT ONLY. A lost key cannot be replaced.
/// @dev Replaces smart accounts on local chains: one key makes its calls and its signatures (EIP-1271).
contract DevSignerWallet is IERC1271 {
    /// @notice The caller is not the key.
    error NotTheKey(address caller);

    /// @notice A call reverted.
    error CallFailed(address to);

    address private immutable _key;

    constructor(address key) {
        _key = key;
    }

    receive() external payable {}

    /// @notice Makes a call for the key.
    function execute(address to, uint256 value, bytes calldata data) external payable {
        if (msg.sender != _key) revert NotTheKey(msg.sender);
        (bool succeeded,) = to.call{value: value}(data);
        if (!succeeded) revert CallFailed(to);
    }

    /// @notice Whether the key made the signature. A word before it may name the key, as wallets with several keys
    /// need.
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (signature.length == 97 && bytes32(signature) == bytes32(uint256(uint160(_key)))) {
            signature = signature[32:];
        }
        (address signer, ECDSA.RecoverError failure,) = ECDSA.tryRecoverCalldata(digest, signature);
        bool valid = failure == ECDSA.RecoverError.NoError && signer == _key;
        return valid ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }
}
