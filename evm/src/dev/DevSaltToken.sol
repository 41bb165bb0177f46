// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {Nonces} from "@openzeppelin/contracts/utils/Nonces.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {MessageHashUtils} from "@openzeppelin/contracts/utils/cryptography/MessageHashUtils.sol";

/// @title DevSaltToken
/// @notice FOR DEVELOPMENT ONLY. Anyone can mint.
/// @dev Has permits (EIP-2612) whose domain names the chain by a salt, as bridged tokens do.
contract DevSaltToken is ERC20, Nonces {
    /// @notice A permit came after its deadline.
    error PermitExpired(uint256 deadline);

    /// @notice A permit was signed by somebody else.
    error PermitNotSigned(address signer, address owner);

    bytes32 private constant _DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,string version,address verifyingContract,bytes32 salt)");
    bytes32 private constant _PERMIT_TYPEHASH =
        keccak256("Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)");

    constructor(string memory name_, string memory symbol_) ERC20(name_, symbol_) {}

    /// @notice Makes tokens for anybody.
    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    /// @notice Allows what the owner signed for.
    function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)
        external
    {
        if (block.timestamp > deadline) revert PermitExpired(deadline);
        bytes32 wanted = keccak256(abi.encode(_PERMIT_TYPEHASH, owner, spender, value, _useNonce(owner), deadline));
        address signer = ECDSA.recover(MessageHashUtils.toTypedDataHash(DOMAIN_SEPARATOR(), wanted), v, r, s);
        if (signer != owner) revert PermitNotSigned(signer, owner);
        _approve(owner, spender, value);
    }

    /// @notice What every signature for this token on this chain has in it.
    // forge-lint: disable-next-line(mixed-case-function)
    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        bytes32 salt = bytes32(block.chainid);
        return keccak256(abi.encode(_DOMAIN_TYPEHASH, keccak256(bytes(name())), keccak256("1"), address(this), salt));
    }
}
